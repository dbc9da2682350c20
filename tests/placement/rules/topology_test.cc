#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/script.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

constexpr char kTopologyHost[] = R"(
  cn1{VCPU:8 used 3, DISK_GB:100}
    numa0[CUSTOM_T]{MEMORY_MB:512}(A)
    numa1
  cn2{VCPU:4}
)";

// Errors by precedence: each line repairs the one before it.
TEST(RulesTopology, Ladder) {
  World world(kTopologyHost);
  RunScript(world, R"(
    claim c1 new cn1{VCPU:1}   OK
    topology a named  | -gone                                                INVALID_FIELD
    topology a {VCPU:4 reserved 5} | b below b                               INVALID_INVENTORY
    topology a below gone | b below b                                        SELF_PARENT        # P-48
    topology a below gone | b named cn1                                      PARENT_NOT_FOUND
    topology a named cn1 | gone@ below gone                                  DUPLICATE_PROVIDER # P-47
    topology a | gone@ | cn1@stale                                           PROVIDER_NOT_FOUND
    topology a | cn1@stale below gone                                        PROVIDER_GENERATION_CONFLICT
    topology a | cn1@used below gone                                         PROVIDER_GENERATION_CONFLICT  # P-232
    topology a | cn1@ below gone | cn2@ below cn2                            PARENT_NOT_FOUND
    topology a | cn1@ below numa0 | cn2@ named cn1                           PROVIDER_LOOP      # P-56
    topology a | cn2@ named numa0 | numa1@ [NO_SUCH]                         DUPLICATE_PROVIDER # P-52
    topology a | numa1@ [NO_SUCH] | -gone                                    TRAIT_NOT_FOUND
    topology a | -gone | -numa0@stale                                        PROVIDER_NOT_FOUND
    topology a | -cn1 | -numa0@stale                                         PROVIDER_GENERATION_CONFLICT
    topology a below numa1 | -numa1 | -cn1                                   PROVIDER_HAS_CHILDREN  # P-60
    topology a | -cn1 | -numa0 | -numa1 with c1 new                          PROVIDER_IN_USE        # P-60
    topology a | cn1@ {NO_SUCH:1} with c1 new gone{VCPU:1}                   CONSUMER_GENERATION_CONFLICT
    topology a | cn1@ {NO_SUCH:1} | -numa0 with c1 @ numa0{VCPU:1}           PROVIDER_NOT_FOUND
    topology a | cn1@ {NO_SUCH:1} with c1 @ a{VCPU:1}                        RESOURCE_CLASS_NOT_FOUND
    topology a | cn1@ {DISK_GB:1} with c1 @ a{VCPU:1}                        INVENTORY_IN_USE       # P-223
    topology a | cn1@ {VCPU:8} with c1 @ a{VCPU:1}                           NO_INVENTORY
    topology a {VCPU:4 min 2} with c1 @ a{VCPU:1}                            UNIT_CONSTRAINT_VIOLATED
    topology a {VCPU:4} with c1 @ a{VCPU:4} & c2 new a{VCPU:1}               CAPACITY_EXCEEDED
    topology a {VCPU:4} with c1 @ a{VCPU:3} & c2 new a{VCPU:1}               OK
  )");
  EXPECT_EQ(world.used("a", "VCPU"), 4);
  EXPECT_EQ(world.used("cn1", "VCPU"), 3);
}

TEST(RulesTopology, Form) {
  World world(kTopologyHost);
  const std::string long_name(201, 'x');
  RunScript(world, R"(
    topology cn1@half {VCPU:1}            GENERATION_REQUIRED   # P-232
    topology cn1@half named other         OK
    topology cn1@ | cn1@                  DUPLICATE_PARAMETER
    topology cn1@ | -cn1                  DUPLICATE_PARAMETER
    topology -cn2 | -cn2                  DUPLICATE_PARAMETER
    topology cn2@ {VCPU:1, VCPU:2}        DUPLICATE_PARAMETER
    topology cn2@ (A,A)                   DUPLICATE_PARAMETER
    topology cn2@ [lower]                 INVALID_FIELD
    topology cn2@ {vcpu:1}                INVALID_FIELD
    topology cn2                          DUPLICATE_PROVIDER    # absent says that it is not there
  )");
  RunScript(world, "topology cn2@ named " + long_name + "   INVALID_FIELD");
  EXPECT_TRUE(world.Must(ApplyTopology{}).changes.empty());
}

// A command holds the ledger's lock while it is decided: a chain is walked once, not once for each
// provider on it.
TEST(RulesTopology, Limits) {
  World world(kTopologyHost);
  const auto id = [&world](int i) { return world.provider(absl::StrCat("chain", i)); };
  const auto chain = [&](int length) {
    ApplyTopology body;
    for (int i = length - 1; i >= 0; --i) {
      ProviderTopology& provider = body.providers.emplace_back();
      provider.provider = id(i);
      provider.name = absl::StrCat("chain", i);
      if (i > 0) provider.parent = id(i - 1);
    }
    return body;
  };
  const auto refusal_of = [&world](const ApplyTopology& body) {
    const auto refusal = RefusalOf(world.Do(body).status());
    return refusal ? absl::StrCat(refusal->reason, " ", refusal->items[0].at("field")) : "OK";
  };
  ApplyTopology circle = chain(1000);
  circle.providers.back().parent = id(999);
  EXPECT_EQ(refusal_of(circle), "PROVIDER_LOOP providers[0].parent_uuid");
  EXPECT_EQ(refusal_of(chain(1001)), "INVALID_FIELD providers");
  EXPECT_EQ(refusal_of(chain(1000)), "OK");
  EXPECT_EQ(world.place("chain999").tree->root_id(), id(0));
  EXPECT_EQ(world.place("chain999").position, 999);
  ApplyTopology body;
  for (int i = 0; i <= 1000; ++i) body.removed.push_back({id(i), std::nullopt});
  for (int i = 0; i <= 1000; ++i) {
    body.consumers.push_back(
        {world.consumer(absl::StrCat("c", i)), std::nullopt, "p", "u", "T", {}});
  }
  EXPECT_EQ(refusal_of(body), "INVALID_FIELD removed_providers");
  body.removed.pop_back();
  EXPECT_EQ(refusal_of(body), "INVALID_FIELD consumers");
  body.consumers.pop_back();
  EXPECT_EQ(refusal_of(body), "OK");
  EXPECT_FALSE(world.state().FindProvider(id(0)).has_value());
}

// What else would be many calls that can strand a host half-way.
TEST(RulesTopology, OneStep) {  // D-33
  World world(kTopologyHost);
  RunScript(world, R"(
    topology pgpu below numa2 {CUSTOM_GPU:4} | numa2 below cn1 {VCPU:8, MEMORY_MB:64}[CUSTOM_T](A,B) | numa1@ out named spare | numa0@ [] | cn1@ {DISK_GB:100} | -cn2 with held-by-cn1 @ numa2{VCPU:3} & c1 new pgpu{CUSTOM_GPU:1}  RESOURCE_CLASS_NOT_FOUND
  )");
  world.Must(CreateClass{"CUSTOM_GPU"});
  RunScript(world, R"(
    topology pgpu below numa2 {CUSTOM_GPU:4} | numa2 below cn1 {VCPU:8, MEMORY_MB:64}[CUSTOM_T](A,B) | numa1@ out named spare | numa0@ [] | cn1@ {DISK_GB:100} | -cn2 with held-by-cn1 @ numa2{VCPU:3} & c1 new pgpu{CUSTOM_GPU:1}  OK
  )");
  EXPECT_EQ(world.used("numa2", "VCPU"), 3);
  EXPECT_EQ(world.used("pgpu", "CUSTOM_GPU"), 1);
  EXPECT_EQ(world.place("pgpu").tree->root_id(), world.provider("cn1"));
  EXPECT_EQ(world.place("numa2").config().aggregates.size(), 2u);
  EXPECT_FALSE(world.place("numa1").config().parent.has_value());
  EXPECT_EQ(world.state().FindProviderByName("spare"), world.provider("numa1"));
  EXPECT_TRUE(world.place("numa0").config().traits.empty());
  EXPECT_EQ(world.place("numa0").config().inventories.size(), 1u);  // absent: stays
  EXPECT_FALSE(world.state().FindProvider(world.provider("cn2")).has_value());
}

TEST(RulesTopology, OnlyTheEndCounts) {
  World world(kTopologyHost);
  RunScript(world, R"(
    topology cn1@ named cn2 | cn2@ named cn1                       OK   # names are swapped
    topology numa0@ out | cn1@ below numa0 | numa1@ below numa0    OK   # upside down
    topology -cn1 | -numa1 | -numa0 with held-by-cn1 @ cn2{VCPU:3}   OK   # the whole tree goes
    topology new1 below new2 | new2 below new1                     PROVIDER_LOOP
    topology new1 named cn9 | cn2@ named cn9                       DUPLICATE_PROVIDER
    topology new1 named cn1 | cn2@ named cn9                       OK   # a name that gets free
    topology new2 named cn9 | -cn2 with held-by-cn1 @              OK
  )");
}

TEST(RulesTopology, GenerationsMoveByOne) {
  World world(kTopologyHost);
  const auto moves = [&](const char* name, const std::string& words) {
    const Generation before = world.generation(name);
    const Outcome outcome = world.Must(ParseCommand(world, "topology " + words));
    EXPECT_EQ(outcome.result.providers.size(), 1u);
    return world.generation(name).value - before.value;
  };
  EXPECT_EQ(moves("numa0", "numa0@ {MEMORY_MB:512}"), 1);  // P-84
  EXPECT_EQ(moves("numa0", "numa0@ (A)"), 1);              // P-104
  EXPECT_EQ(moves("numa0", "numa0@ [CUSTOM_T]"), 0);       // P-99
  EXPECT_EQ(moves("numa0", "numa0@ []"), 1);
  EXPECT_EQ(moves("numa0", "numa0@ below cn1"), 0);
  EXPECT_EQ(moves("numa0", "numa0@ below cn2"), 1);                          // P-53
  EXPECT_EQ(moves("numa0", "numa0@ named other"), 0);                        // P-53
  EXPECT_EQ(moves("numa0", "numa0@ below cn1 named n {}[CUSTOM_T](B)"), 1);  // P-231
  EXPECT_EQ(moves("numa0", "numa0@"), 0);
  const Generation rows = world.allocation_generation("cn1");
  RunScript(world, "topology fresh {VCPU:4} with c1 new fresh{VCPU:1}   OK");
  EXPECT_EQ(world.generation("fresh"), world.allocation_generation("fresh"));  // P-5
  EXPECT_EQ(world.allocation_generation("cn1"), rows);
}

TEST(RulesTopology, ValidatingChangesNothing) {
  World world(kTopologyHost);
  auto body = std::get<ApplyTopology>(ParseCommand(world, "topology a {VCPU:4} | -numa1"));
  body.validate_only = true;
  const Outcome outcome = world.Must(body);
  EXPECT_TRUE(outcome.changes.empty());
  ASSERT_EQ(outcome.result.providers.size(), 1u);
  EXPECT_EQ(outcome.result.providers[0].config->name, "a");
  body.removed[0].provider = world.provider("cn1");
  EXPECT_EQ(RefusalOf(world.Do(body).status())->reason, "PROVIDER_HAS_CHILDREN");
}

}  // namespace
}  // namespace berth::placement
