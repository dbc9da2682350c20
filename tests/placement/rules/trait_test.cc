#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/script.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

TEST(RulesTrait, SetLadder) {
  World world("cn1[CUSTOM_A,CUSTOM_B]");
  RunScript(world, R"(
    traits gone NO_SUCH                  GENERATION_REQUIRED            # P-96
    traits gone@stale no_such            INVALID_FIELD                  # P-98
    traits gone@stale NO_SUCH            PROVIDER_NOT_FOUND             # P-98
    traits cn1@stale NO_SUCH             PROVIDER_GENERATION_CONFLICT   # P-98
    traits cn1@ CUSTOM_A,NO_SUCH         TRAIT_NOT_FOUND                # P-98
    traits cn1@ CUSTOM_A,OWNER_NOVA      OK                             # P-97: standard ones too
    clear gone@stale                     PROVIDER_NOT_FOUND             # P-101
    clear cn1@stale                      PROVIDER_GENERATION_CONFLICT   # P-101
    clear cn1                            OK                             # P-101
    clear cn1@                           OK                             # P-101: again
  )");
}

// A request may be wrong in more places than an answer has room for.
TEST(RulesTrait, FaultsHaveAnEnd) {
  World world("cn1");
  const auto refuse = [&](const SetProviderTraits& command) { return world.Do(command).status(); };
  const ProviderId cn1 = world.provider("cn1");
  const Generation generation = world.generation("cn1");
  absl::Status status = refuse({cn1, generation, std::vector<std::string>(1024, "")});
  EXPECT_EQ(RefusalOf(status)->reason, "INVALID_FIELD");
  EXPECT_EQ(RefusalOf(status)->items.size(), 100u);
  EXPECT_TRUE(absl::StrContains(status.message(), "; 1023 more fields are at fault")) << status;
  status = refuse({cn1, generation, std::vector<std::string>(1025, "")});
  EXPECT_EQ(RefusalOf(status)->items.size(), 1u) << status;
  std::vector<std::string> unknown;
  for (int i = 0; i < 1024; ++i) unknown.push_back(absl::StrCat("CUSTOM_", i));
  status = refuse({cn1, generation, unknown});
  EXPECT_EQ(RefusalOf(status)->reason, "TRAIT_NOT_FOUND");
  EXPECT_EQ(RefusalOf(status)->items.size(), 100u);
  EXPECT_TRUE(absl::EndsWith(status.message(), "CUSTOM_99 and 924 more")) << status;
}

TEST(RulesTrait, TooManyAggregates) {
  World world("cn1");
  std::vector<AggregateId> aggregates(1025, AggregateId{{1, 1}});
  const absl::Status status =
      world.Do(SetProviderAggregates{world.provider("cn1"), world.generation("cn1"), aggregates})
          .status();
  EXPECT_EQ(RefusalOf(status)->reason, "INVALID_FIELD");
  EXPECT_EQ(RefusalOf(status)->items.size(), 1u) << status;
}

TEST(RulesTrait, UnknownOnesAreAllNamed) {
  World world("cn1");
  const auto outcome = world.Do(SetProviderTraits{
      world.provider("cn1"), world.generation("cn1"), {"NO_B", "OWNER_NOVA", "NO_A", "NO_B"}});
  const std::optional<Refusal> refusal = RefusalOf(outcome.status());
  ASSERT_EQ(refusal->items.size(), 2u);  // P-46
  EXPECT_EQ(refusal->items[0].at("trait"), "NO_B");
  EXPECT_EQ(refusal->items[1].at("trait"), "NO_A");
}

TEST(RulesTrait, GenerationMovesWithTheSetOnly) {
  World world("cn1[CUSTOM_A,CUSTOM_B]\n  kid");
  const auto moves = [&](absl::string_view line) {
    const Generation before = world.generation("cn1");
    const Outcome outcome = world.Must(ParseCommand(world, line));
    EXPECT_EQ(outcome.result.providers.at(0).config->generation, world.generation("cn1"));
    return world.generation("cn1").value - before.value;
  };
  EXPECT_EQ(moves("traits cn1@ CUSTOM_B,CUSTOM_A"), 0);           // P-99
  EXPECT_EQ(moves("traits cn1@ CUSTOM_B,CUSTOM_A,CUSTOM_B"), 0);  // P-97: duplicates collapse
  EXPECT_EQ(moves("traits cn1@ CUSTOM_A"), 1);                    // P-92
  EXPECT_EQ(moves("clear cn1"), 1);                               // P-92
  EXPECT_EQ(moves("clear cn1"), 0);                               // P-92
  EXPECT_EQ(moves("traits cn1@ none"), 0);                        // P-99
  EXPECT_TRUE(world.place("kid").config().traits.empty());        // P-102
}

TEST(RulesTrait, AggregatesLadder) {
  World world("cn1(a)");
  RunScript(world, R"(
    aggregates gone a,a                  GENERATION_REQUIRED            # P-96
    aggregates gone@stale a,b,a          DUPLICATE_PARAMETER            # P-103
    aggregates gone@stale a,b            PROVIDER_NOT_FOUND             # P-103
    aggregates cn1@stale a,b             PROVIDER_GENERATION_CONFLICT   # P-103
    aggregates cn1@ a,b                  OK                             # P-22, P-103
  )");
  ASSERT_EQ(world.place("cn1").config().aggregates.size(), 2u);
  const Generation before = world.generation("cn1");
  world.Must(ParseCommand(world, "aggregates cn1@ b,a"));
  EXPECT_EQ(world.generation("cn1"), before.Next());  // P-104
  world.Must(ParseCommand(world, "aggregates cn1@ "));
  EXPECT_TRUE(world.place("cn1").config().aggregates.empty());  // P-103
}

}  // namespace
}  // namespace berth::placement
