#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/script.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

constexpr char kHost[] = R"(
  cn1{VCPU:8 ratio 2 used 3, DISK_GB:100 used 40}
    numa0{MEMORY_MB:512}
    numa1
)";

// Errors by precedence: each line repairs the one before it.
TEST(RulesReshape, Ladder) {
  World world(kHost);
  world.Add("shr{DISK_GB:10 min 2 max 8}");
  RunScript(world, R"(
    claim c1 new cn1{VCPU:1}   OK
    reshape cn1@ VCPU:0 | gone@ none                                  INVALID_FIELD                 # P-229
    reshape cn1@ VCPU:8 | gone@ NO_SUCH:4 reserved 5                  INVALID_INVENTORY             # P-228, P-229
    reshape cn1@stale NO_SUCH:8 | gone@ none with c1 new gone{X:9}    PROVIDER_NOT_FOUND            # P-229
    reshape cn1@stale NO_SUCH:8 with c1 new gone{X:9}                 PROVIDER_GENERATION_CONFLICT  # P-229
    reshape cn1@used NO_SUCH:8 with c1 new gone{X:9}                  PROVIDER_GENERATION_CONFLICT  # P-232
    reshape cn1@ NO_SUCH:8 with c1 new gone{X:9}                      CONSUMER_GENERATION_CONFLICT  # P-229
    reshape cn1@ NO_SUCH:8 with c1 @ gone{X:9}                        PROVIDER_NOT_FOUND            # P-225
    reshape cn1@ NO_SUCH:8 with c1 @ numa1{X:9} shr{DISK_GB:1}        RESOURCE_CLASS_NOT_FOUND      # P-229
    reshape cn1@ DISK_GB:8 with c1 @ numa1{X:9} shr{DISK_GB:1}        RESOURCE_CLASS_NOT_FOUND      # P-229
    reshape cn1@ DISK_GB:8 with c1 @ numa1{VCPU:9} shr{DISK_GB:1}     INVENTORY_IN_USE              # P-223
    reshape cn1@ VCPU:8, DISK_GB:100 with c1 @ numa1{VCPU:9} shr{DISK_GB:1}           NO_INVENTORY             # P-229
    reshape cn1@ VCPU:8, DISK_GB:100 | numa1@ VCPU:8 with c1 @ numa1{VCPU:9} shr{DISK_GB:8}  UNIT_CONSTRAINT_VIOLATED  # P-226
    reshape cn1@ VCPU:8, DISK_GB:100 | numa1@ VCPU:8 with c1 @ numa1{VCPU:8} shr{DISK_GB:1}  UNIT_CONSTRAINT_VIOLATED  # P-225
    reshape cn1@ VCPU:8, DISK_GB:100 | numa1@ VCPU:8 with c1 @ numa1{VCPU:8} & c2 new numa1{VCPU:1}  CAPACITY_EXCEEDED  # P-226
    reshape cn1@ VCPU:8, DISK_GB:100 | numa1@ VCPU:8 with c1 @ numa1{VCPU:7} & c2 new numa1{VCPU:1}  OK  # P-224
  )");
  EXPECT_EQ(world.used("numa1", "VCPU"), 8);  // P-222
  EXPECT_EQ(world.used("cn1", "VCPU"), 3);    // P-223: rows of consumers that are not listed stay
}

TEST(RulesReshape, Form) {
  World world(kHost);
  RunScript(world, R"(
    reshape cn1@ vcpu:8                              INVALID_FIELD        # P-228
    reshape cn1 VCPU:8                               GENERATION_REQUIRED  # P-221
    reshape cn1@half VCPU:8                          GENERATION_REQUIRED  # P-232
    reshape cn1@ VCPU:8, VCPU:9                      DUPLICATE_PARAMETER  # P-228
    reshape cn1@ none | cn1@ none                    DUPLICATE_PARAMETER  # P-221
    reshape cn1@ VCPU:8 ratio 0                      INVALID_INVENTORY    # P-228, D-9
    reshape cn1@ VCPU:8 reserved 9                   INVALID_INVENTORY    # P-228, D-9
    reshape numa1@ VCPU:8 with c1 new numa1{}        INVALID_FIELD        # P-221, P-114
    reshape numa1@ VCPU:8 with c1 new numa1{VCPU:1} & c1 new numa1{VCPU:1}  DUPLICATE_PARAMETER  # P-114
  )");
  EXPECT_EQ(RefusalOf(world.Do(Reshape{}).status())->reason, "INVALID_FIELD");  // P-221
}

// A command holds the ledger's lock while it is decided.
TEST(RulesReshape, Limits) {
  World world(kHost);
  const auto refusal_of = [&world](int providers, int consumers) {
    Reshape body;
    for (int i = 0; i < providers; ++i) {
      body.providers.push_back(
          {world.provider(absl::StrCat("gone", i)), Generation{1}, Generation{1}, {}});
    }
    for (int i = 0; i < consumers; ++i) {
      body.consumers.push_back(
          {world.consumer(absl::StrCat("c", i)), std::nullopt, "p", "u", "T", {}});
    }
    const Refusal refusal = *RefusalOf(world.Do(body).status());
    return absl::StrCat(refusal.reason, " ", refusal.items[0].at("field"));
  };
  EXPECT_EQ(refusal_of(0, 0), "INVALID_FIELD providers");  // P-221
  EXPECT_EQ(refusal_of(1000, 1000), "PROVIDER_NOT_FOUND providers[0].provider_uuid");
  EXPECT_EQ(refusal_of(1001, 1000), "INVALID_FIELD providers");
  EXPECT_EQ(refusal_of(1000, 1001), "INVALID_FIELD consumers");
}

// A consumer can be listed, or stay; nothing in between is ever seen.
TEST(RulesReshape, MovesInventoryWithItsAllocations) {
  World world(kHost);
  RunScript(world, R"(
    claim c1 new cn1{VCPU:2, DISK_GB:10}                 OK
    # The holder of 3 VCPU is not listed.
    reshape cn1@ DISK_GB:100 | numa0@ VCPU:8, MEMORY_MB:512 with c1 @ numa0{VCPU:2} cn1{DISK_GB:10}  INVENTORY_IN_USE  # P-223
    reshape cn1@ DISK_GB:100 | numa0@ VCPU:8, MEMORY_MB:512 with c1 @ numa0{VCPU:2} cn1{DISK_GB:10} & held-by-cn1 @ numa0{VCPU:3} cn1{DISK_GB:40}  OK  # P-222
    claim c2 new cn1{VCPU:1}                             NO_INVENTORY       # P-222
    claim c2 new numa0{VCPU:4}                           CAPACITY_EXCEEDED  # P-222
    claim c2 new numa0{VCPU:3}                           OK                 # P-222
  )");
  EXPECT_EQ(world.used("numa0", "VCPU"), 8);
  EXPECT_EQ(world.used("cn1", "DISK_GB"), 50);  // P-222
  EXPECT_EQ(world.place("cn1").config().inventories.size(), 1u);
}

TEST(RulesReshape, NoWorseIsEnough) {
  World world("cn1{VCPU:8 used 6}");
  RunScript(world, R"(
    reshape cn1@ VCPU:4 max 8                                        OK                        # P-227
    reshape cn1@ VCPU:3 max 8 with held-by-cn1 @ cn1{VCPU:6}         OK                        # P-226
    reshape cn1@ VCPU:3 max 8 with held-by-cn1 @ cn1{VCPU:7}         CAPACITY_EXCEEDED         # P-226
    reshape cn1@ VCPU:3 max 8 with held-by-cn1 @ cn1{VCPU:5}         OK                        # P-226
    reshape cn1@ VCPU:9 max 4 with held-by-cn1 @ cn1{VCPU:5}         UNIT_CONSTRAINT_VIOLATED  # P-226
  )");
  auto body = std::get<Reshape>(
      ParseCommand(world, "reshape cn1@ VCPU:9 max 4 with held-by-cn1 @ cn1{VCPU:5}"));
  body.keep_unchanged_rows = true;
  EXPECT_TRUE(world.Do(body).ok());  // P-134
}

// With the use after the command, of the providers that are listed.
TEST(RulesReshape, SaysWhatIsOverCapacity) {
  World world("cn1{VCPU:8 used 6, DISK_GB:9 used 9, MEMORY_MB:9 used 2}\ncn2{VCPU:4}");
  const auto told = [&world](const char* words) {
    std::string text;
    for (const OverCapacity& over : world.Must(ParseCommand(world, words)).result.over_capacity) {
      absl::StrAppend(&text, over.provider == world.provider("cn1") ? "cn1 " : "cn2 ",
                      over.resource_class, " ", over.used, "/", over.capacity, "; ");
    }
    return text;
  };
  EXPECT_EQ(told("reshape cn1@ VCPU:6, DISK_GB:9, MEMORY_MB:9"), "");
  EXPECT_EQ(told("reshape cn2@ VCPU:5 | cn1@ VCPU:4, DISK_GB:9, MEMORY_MB:1"),
            "cn1 VCPU 6/4; cn1 MEMORY_MB 2/1; ");  // P-227, P-89
  EXPECT_EQ(told("reshape cn1@ VCPU:4 max 8, DISK_GB:8, MEMORY_MB:2 "
                 "with held-by-cn1 @ cn1{VCPU:5, DISK_GB:8, MEMORY_MB:2}"),
            "cn1 VCPU 5/4; ");                 // P-89: what is used afterwards
  EXPECT_EQ(told("reshape cn2@ VCPU:4"), "");  // cn1 is not listed
  EXPECT_EQ(told("topology cn1@ named other | cn2@ {VCPU:4}"), "cn1 VCPU 5/4; ");
  EXPECT_EQ(told("topology cn1@ named cn1 with held-by-cn1 @ cn2{VCPU:4}"), "");
  EXPECT_EQ(told("topology cn2@ {VCPU:3, DISK_GB:1} | -cn1"), "cn2 VCPU 4/3; ");  // P-227
}

TEST(RulesReshape, SaysWhatCannotBeAllocated) {
  World world("cn1{VCPU:8}");
  const Outcome outcome =
      world.Must(ParseCommand(world, "reshape cn1@ VCPU:8 min 4 max 2, DISK_GB:1"));
  ASSERT_EQ(outcome.result.warnings.size(), 1u);  // P-18
  EXPECT_EQ(outcome.result.warnings[0],
            absl::StrCat("provider cn1 (", world.provider("cn1").ToString(),
                         "): nothing of VCPU can be allocated: min_unit 4 is above max_unit 2"));
}

TEST(RulesReshape, ConsumersComeAndGo) {
  World world(kHost);
  RunScript(world, R"(
    claim c1 new cn1{VCPU:2}    OK
    reshape numa1@ VCPU:4 with c1 @ & c2 new numa1{VCPU:4}   OK   # P-224
    claim c1 new cn1{VCPU:1}    OK                                # P-125
    reshape numa1@ none with c2 @                            OK   # P-222
  )");
  EXPECT_FALSE(world.consumer_generation("c2").has_value());
}

TEST(RulesReshape, GenerationsMoveByOne) {
  World world(kHost);
  RunScript(world, "claim c1 new cn1{VCPU:2}   OK");
  const Generation cn1 = world.generation("cn1"), numa0 = world.generation("numa0");
  const Generation numa1 = world.generation("numa1"), c1 = *world.consumer_generation("c1");
  const Generation rows_of_cn1 = world.allocation_generation("cn1");
  const Generation rows_of_numa0 = world.allocation_generation("numa0");
  const Generation rows_of_numa1 = world.allocation_generation("numa1");
  const Outcome outcome = world.Must(ParseCommand(
      world, "reshape numa0@ VCPU:4 | numa1@ none with c1 @ numa0{VCPU:2} & c2 new numa0{VCPU:1}"));
  EXPECT_EQ(world.generation("numa0"), numa0.Next());  // P-231
  EXPECT_EQ(world.generation("numa1"), numa1.Next());  // P-231: listed, also where nothing differs
  EXPECT_EQ(world.generation("cn1"), cn1);             // P-231
  EXPECT_EQ(world.allocation_generation("cn1"), rows_of_cn1.Next());      // P-231
  EXPECT_EQ(world.allocation_generation("numa0"), rows_of_numa0.Next());  // P-231
  EXPECT_EQ(world.allocation_generation("numa1"), rows_of_numa1);
  EXPECT_EQ(*world.consumer_generation("c1"), c1.Next());  // P-231
  ASSERT_EQ(outcome.result.consumers.size(), 2u);
  EXPECT_EQ(outcome.result.consumers[0],
            std::make_pair(world.consumer("c1"), *world.consumer_generation("c1")));
  ASSERT_EQ(outcome.result.providers.size(), 2u);
  EXPECT_EQ(outcome.result.providers[0].config->generation, world.generation("numa0"));
  EXPECT_EQ(outcome.result.providers[0].root, world.provider("cn1"));
}

TEST(RulesReshape, ThePresentStateIsLegal) {
  World world(kHost);
  const std::string before = world.Text();
  const Generation generation = world.generation("cn1");
  RunScript(world, R"(
    reshape cn1@ VCPU:8 ratio 2, DISK_GB:100 with held-by-cn1 @ cn1{VCPU:3, DISK_GB:40}  OK  # P-233
  )");
  EXPECT_EQ(world.Text(), before);
  EXPECT_EQ(world.generation("cn1"), generation.Next());  // P-233
}

TEST(RulesReshape, NothingButInventoriesIsReshaped) {
  World world("cn1{VCPU:8}\n  numa0[CUSTOM_A,HW_NUMA_ROOT](agg1,agg2)");
  const ProviderConfig before = world.place("numa0").config();
  world.Must(ParseCommand(world, "reshape cn1@ none | numa0@ VCPU:8"));
  const ProviderConfig& after = world.place("numa0").config();
  EXPECT_EQ(after.inventories.size(), 1u);
  EXPECT_EQ(after.name, before.name);              // P-234
  EXPECT_EQ(after.parent, before.parent);          // P-234
  EXPECT_EQ(after.traits, before.traits);          // P-234
  EXPECT_EQ(after.aggregates, before.aggregates);  // P-234
}

TEST(RulesReshape, AnyWriteInBetweenIsNoticed) {
  World world(kHost);
  const CommandBody planned =
      ParseCommand(world, "reshape cn1@ VCPU:9 ratio 2, DISK_GB:100 | numa0@ none");
  const auto conflicts = [&](const char* in_between) {
    World other = world;
    RunScript(other, in_between);
    const std::optional<Refusal> refusal = RefusalOf(other.Do(planned).status());
    return refusal ? refusal->reason : "OK";
  };
  EXPECT_EQ(conflicts(""), "OK");
  EXPECT_EQ(conflicts("claim c1 new cn1{VCPU:1}   OK"), "PROVIDER_GENERATION_CONFLICT");  // P-232
  EXPECT_EQ(conflicts("inventories numa0@ none   OK"), "PROVIDER_GENERATION_CONFLICT");   // P-232
  EXPECT_EQ(conflicts("traits numa0@ MISC_SHARES_VIA_AGGREGATE   OK"),
            "PROVIDER_GENERATION_CONFLICT");  // P-232
  EXPECT_EQ(conflicts("claim c1 new numa0{MEMORY_MB:1}   OK\nrelease c1   OK"),
            "PROVIDER_GENERATION_CONFLICT");                     // P-232
  EXPECT_EQ(conflicts("inventories numa1@ VCPU:1   OK"), "OK");  // not listed
}

TEST(RulesReshape, EveryFaultOfAStageIsNamed) {
  World world(kHost);
  const auto refuse = [&](const char* words) {
    return *RefusalOf(world.Do(ParseCommand(world, words)).status());
  };
  Refusal refusal = refuse("reshape cn1@stale none | numa0@ none | numa1@used none");
  ASSERT_EQ(refusal.items.size(), 2u);  // P-229
  EXPECT_EQ(refusal.items[0].at("provider"), world.provider("cn1").ToString());
  EXPECT_EQ(refusal.items[0].at("field"), "providers[0].expected_generation");
  EXPECT_EQ(refusal.items[1].at("field"), "providers[2].expected_allocation_generation");
  refusal = refuse("reshape gone@ none | away@ none");
  EXPECT_EQ(refusal.items.size(), 2u);
  refusal = refuse("reshape numa0@ NO_A:1, NO_B:1 with c1 new numa0{NO_C:1}");
  EXPECT_EQ(refusal.items.size(), 3u);
  refusal = refuse("reshape cn1@ none");
  ASSERT_EQ(refusal.items.size(), 2u);  // P-223
  EXPECT_EQ(refusal.items[0].at("used"), "3");
}

TEST(RulesReshape, ValidatingChangesNothing) {
  World world(kHost);
  auto body = std::get<Reshape>(ParseCommand(
      world, "reshape numa1@ VCPU:4 with held-by-cn1 @ numa1{VCPU:3} & c2 new numa1{VCPU:1}"));
  body.validate_only = true;
  const Outcome outcome = world.Must(body);
  EXPECT_TRUE(outcome.changes.empty());
  ASSERT_EQ(outcome.result.providers.size(), 1u);
  EXPECT_EQ(outcome.result.providers[0].config->inventories.size(), 1u);
  EXPECT_EQ(outcome.result.consumers.size(), 2u);
  body.consumers[1].allocations[0].amounts[0].amount = 2;
  EXPECT_EQ(RefusalOf(world.Do(body).status())->reason, "CAPACITY_EXCEEDED");
}

}  // namespace
}  // namespace berth::placement
