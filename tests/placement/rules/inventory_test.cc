#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/script.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

// Errors by precedence: each line repairs the one before it.
TEST(RulesInventory, SetLadder) {
  World world("cn1{VCPU:8 used 2, DISK_GB:10 used 1, MEMORY_MB:64}");
  RunScript(world, R"(
    inventories gone NO_SUCH:0 reserved 9 ratio 0              GENERATION_REQUIRED           # P-96
    inventories gone@stale NO_SUCH:0 reserved 9 ratio 0        INVALID_FIELD                 # P-238
    inventories gone@stale NO_SUCH:4 reserved 9 ratio 0        PROVIDER_NOT_FOUND            # P-83
    inventories cn1@stale NO_SUCH:4 reserved 9 ratio 0         PROVIDER_GENERATION_CONFLICT  # P-83
    inventories cn1@ NO_SUCH:4 reserved 9                      INVALID_INVENTORY             # P-83
    inventories cn1@ NO_SUCH:4 reserved 4                      RESOURCE_CLASS_NOT_FOUND      # P-83
    inventories cn1@ VCPU:4 reserved 4                         INVENTORY_IN_USE              # P-83
    inventories cn1@ VCPU:4 reserved 4, DISK_GB:1              OK                            # P-16
    inventories cn1@ none                                      INVENTORY_IN_USE              # P-82
    release held-by-cn1                                        OK
    inventories cn1@ none                                      OK                            # P-82
  )");
}

TEST(RulesInventory, Limits) {
  World world("cn1");
  RunScript(world, R"(
    inventories cn1@ VCPU:0                                    INVALID_FIELD       # P-15
    inventories cn1@ VCPU:-1                                   INVALID_FIELD       # P-7
    inventories cn1@ VCPU:2147483647                           OK                  # P-7
    inventories cn1@ VCPU:2147483648 max 1                     INVALID_FIELD       # P-7
    inventories cn1@ VCPU:8 reserved -1                        INVALID_FIELD       # P-7
    inventories cn1@ VCPU:8 min 0                              INVALID_FIELD       # P-7
    inventories cn1@ VCPU:8 min 2147483648                     INVALID_FIELD       # P-7
    inventories cn1@ VCPU:8 max 0                              INVALID_FIELD       # P-7
    inventories cn1@ VCPU:8 step 0                             INVALID_FIELD       # P-7
    inventories cn1@ VCPU:8 step 2147483648                    INVALID_FIELD       # P-7
    inventories cn1@ vcpu:8                                    INVALID_FIELD       # P-21
    inventories cn1@ VCPU:8, DISK_GB:1, VCPU:9                 DUPLICATE_PARAMETER # 9.2
    inventories cn1@ VCPU:10 reserved 11 ratio 0.5             INVALID_INVENTORY   # P-16
    inventories cn1@ VCPU:10 reserved 10                       OK                  # P-16
    inventories cn1@ VCPU:10 ratio 0                           INVALID_INVENTORY   # P-17
    inventories cn1@ VCPU:10 ratio -1                          INVALID_INVENTORY   # P-17
    inventories cn1@ VCPU:10 ratio nan                         INVALID_INVENTORY   # P-17
    inventories cn1@ VCPU:10 ratio inf                         INVALID_INVENTORY   # P-17
    inventories cn1@ VCPU:10 ratio 3.40283e38                  INVALID_INVENTORY   # P-17
    inventories cn1@ VCPU:10 ratio 3.40282e38                  OK                  # P-17
    inventories cn1@ VCPU:10 max 20                            OK                  # P-19
  )");
}

TEST(RulesInventory, EveryFaultIsNamed) {
  World world("cn1");
  const auto outcome = world.Do(SetInventories{
      world.provider("cn1"),
      world.generation("cn1"),
      {{"VCPU", {.total = 4, .reserved = 5}}, {"DISK_GB", {.total = 4, .allocation_ratio = 0}}}});
  const std::optional<Refusal> refusal = RefusalOf(outcome.status());
  ASSERT_EQ(refusal->items.size(), 2u);  // P-236
  EXPECT_EQ(refusal->items[0].at("resource_class"), "VCPU");
  EXPECT_EQ(refusal->items[0].at("field"), "reserved");
  EXPECT_EQ(refusal->items[1].at("resource_class"), "DISK_GB");
  EXPECT_EQ(refusal->items[1].at("field"), "allocation_ratio");
  EXPECT_NE(outcome.status().message().find("reserved is 5"), absl::string_view::npos);
}

TEST(RulesInventory, ConflictNamesBothGenerations) {
  World world("cn1");
  const Generation actual = world.generation("cn1");
  const auto outcome = world.Do(SetInventories{world.provider("cn1"), Generation{77}, {}});
  const std::optional<Refusal> refusal = RefusalOf(outcome.status());
  ASSERT_EQ(refusal->items.size(), 1u);
  EXPECT_EQ(refusal->items[0].at("provider"), world.provider("cn1").ToString());  // P-95
  EXPECT_EQ(refusal->items[0].at("expected_generation"), "77");                   // P-95
  EXPECT_EQ(refusal->items[0].at("actual_generation"), std::to_string(actual.value));
}

TEST(RulesInventory, GenerationsAreComparedForEqualityOnly) {
  World world("cn1{VCPU:8}");
  const int64_t actual = world.generation("cn1").value;
  for (const int64_t expected : {actual - 1, actual + 1, int64_t{0}, int64_t{-1}}) {
    const auto outcome = world.Do(SetInventories{world.provider("cn1"), Generation{expected}, {}});
    EXPECT_EQ(outcome.status().code(), absl::StatusCode::kAborted) << expected;  // P-94, P-95
  }
}

TEST(RulesInventory, InUseNamesAllClasses) {
  World world("cn1{VCPU:8 used 2, DISK_GB:10 used 1, MEMORY_MB:64}");
  const auto outcome = world.Do(SetInventories{world.provider("cn1"), world.generation("cn1"), {}});
  const std::optional<Refusal> refusal = RefusalOf(outcome.status());
  ASSERT_EQ(refusal->items.size(), 2u);  // P-83
  EXPECT_EQ(refusal->items[0].at("resource_class"), "VCPU");
  EXPECT_EQ(refusal->items[0].at("used"), "2");
  EXPECT_EQ(refusal->items[1].at("resource_class"), "DISK_GB");
}

TEST(RulesInventory, SetReplacesAll) {
  World world("cn1{VCPU:8 reserved 1 min 2 max 4 step 2 ratio 3, MEMORY_MB:64}");
  world.Must(SetInventories{world.provider("cn1"),
                            world.generation("cn1"),
                            {{"DISK_GB", {.total = 5}}, {"VCPU", {.total = 9}}}});
  const ProviderConfig& config = world.place("cn1").config();
  ASSERT_EQ(config.inventories.size(), 2u);                             // P-82: MEMORY_MB is gone
  EXPECT_EQ(config.inventories[0].inventory, (Inventory{.total = 9}));  // P-14: nothing is merged
  EXPECT_EQ(config.inventories[0].inventory.max_unit, kAmountMax);      // P-14
  EXPECT_EQ(config.inventories[0].capacity, 9);
  EXPECT_EQ(config.inventories[1].inventory, (Inventory{.total = 5}));  // P-82: added
}

TEST(RulesInventory, GenerationMatrix) {
  World world("cn1{VCPU:8}");
  const auto moves = [&](absl::string_view line) {
    const Generation before = world.generation("cn1");
    const Generation allocations = world.allocation_generation("cn1");
    world.Must(ParseCommand(world, line));
    EXPECT_EQ(world.allocation_generation("cn1"), allocations) << line;  // P-92, D-18
    return world.generation("cn1").value - before.value;
  };
  EXPECT_EQ(moves("inventories cn1@ VCPU:8"), 1);         // P-84: an identical one too
  EXPECT_EQ(moves("inventory add cn1 DISK_GB:8"), 1);     // P-92
  EXPECT_EQ(moves("inventory add cn1@ MEMORY_MB:8"), 1);  // P-92
  EXPECT_EQ(moves("inventory set cn1@ DISK_GB:9"), 1);    // P-92
  EXPECT_EQ(moves("inventory drop cn1 DISK_GB"), 1);      // P-92
  EXPECT_EQ(moves("inventory drop cn1 all"), 1);          // P-92
  EXPECT_EQ(moves("inventory drop cn1 all"), 1);          // P-88
}

TEST(RulesInventory, OneClassLadders) {
  World world("cn1{VCPU:8 used 2}");
  RunScript(world, R"(
    inventory add gone@stale NO_SUCH:0 reserved 3   INVALID_FIELD                 # P-238
    inventory add gone@stale NO_SUCH:2 reserved 3   PROVIDER_NOT_FOUND            # P-85
    inventory add cn1@stale NO_SUCH:2 reserved 3    PROVIDER_GENERATION_CONFLICT  # P-85
    inventory add cn1@ NO_SUCH:2 reserved 3         INVALID_INVENTORY             # P-16
    inventory add cn1@ NO_SUCH:2                    RESOURCE_CLASS_NOT_FOUND      # P-85
    inventory add cn1@ VCPU:2                       INVENTORY_EXISTS              # P-85
    inventory add cn1 DISK_GB:2                     OK                            # P-85

    inventory set gone NO_SUCH:0 reserved 3         GENERATION_REQUIRED           # P-96
    inventory set gone@stale NO_SUCH:0 reserved 3   INVALID_FIELD                 # P-238
    inventory set gone@stale NO_SUCH:2 reserved 3   PROVIDER_NOT_FOUND            # P-86
    inventory set cn1@stale NO_SUCH:2 reserved 3    PROVIDER_GENERATION_CONFLICT  # P-86
    inventory set cn1@ NO_SUCH:2 reserved 3         INVALID_INVENTORY             # P-16
    inventory set cn1@ NO_SUCH:2                    INVENTORY_NOT_FOUND           # P-86
    inventory set cn1@ MEMORY_MB:2                  INVENTORY_NOT_FOUND           # P-86
    inventory set cn1@ DISK_GB:3                    OK                            # P-86

    inventory drop gone@stale vcpu                  INVALID_FIELD                 # P-238
    inventory drop gone@stale VCPU                  PROVIDER_NOT_FOUND            # P-87
    inventory drop cn1@stale MEMORY_MB              PROVIDER_GENERATION_CONFLICT  # P-87
    inventory drop cn1@ MEMORY_MB                   INVENTORY_NOT_FOUND           # P-87
    inventory drop cn1@ NO_SUCH                     INVENTORY_NOT_FOUND           # P-87
    inventory drop cn1@ VCPU                        INVENTORY_IN_USE              # P-87, D-16
    inventory drop cn1 DISK_GB                      OK                            # P-87
    inventory drop gone@stale all                   PROVIDER_NOT_FOUND            # P-88
    inventory drop cn1@stale all                    PROVIDER_GENERATION_CONFLICT  # P-88
    inventory drop cn1 all                          INVENTORY_IN_USE              # P-88
    release held-by-cn1                             OK
    inventory drop cn1@ all                         OK                            # P-88
    inventory drop cn1 all                          OK                            # P-88: none
  )");
}

TEST(RulesInventory, ShrinkingIsLawfulAndTold) {
  World world("cn1{VCPU:8 used 6, DISK_GB:10 used 5}");
  const Outcome outcome =
      world.Must(ParseCommand(world, "inventories cn1@ VCPU:8 reserved 4, DISK_GB:5"));
  ASSERT_EQ(outcome.result.over_capacity.size(), 1u);  // P-89, P-91, D-32: DISK_GB is just full
  EXPECT_EQ(outcome.result.over_capacity[0].resource_class, "VCPU");
  EXPECT_EQ(outcome.result.over_capacity[0].used, 6);
  EXPECT_EQ(outcome.result.over_capacity[0].capacity, 4);
  EXPECT_EQ(world.used("cn1", "VCPU"), 6);  // P-89
  RunScript(world, R"(
    claim c1 new cn1{VCPU:1}                        CAPACITY_EXCEEDED   # P-90
    claim held-by-cn1 @ cn1{VCPU:6, DISK_GB:5}      OK                  # P-90, P-133
    claim held-by-cn1 @ cn1{VCPU:5}                 OK                  # P-90
    inventory set cn1@ VCPU:8 ratio 0.1             OK                  # P-89: by the ratio
    inventory set cn1@ VCPU:8 max 1                 OK                  # P-89: by the units
  )");
}

TEST(RulesInventory, UnallocatableIsTold) {
  World world("cn1");
  Outcome outcome = world.Must(ParseCommand(world, "inventories cn1@ VCPU:8 min 5 max 4"));
  ASSERT_EQ(outcome.result.warnings.size(), 1u);  // P-18
  EXPECT_EQ(outcome.result.warnings[0],
            "nothing of VCPU can be allocated: min_unit 5 is above max_unit 4");
  outcome = world.Must(ParseCommand(world, "inventory set cn1@ VCPU:8 step 5 max 4"));
  EXPECT_EQ(outcome.result.warnings.size(), 1u);  // P-18
  outcome = world.Must(ParseCommand(world, "inventory set cn1@ VCPU:8 step 4 max 4"));
  EXPECT_TRUE(outcome.result.warnings.empty());
}

TEST(RulesInventory, Capacities) {
  World world("cn1");
  const auto capacity = [&](absl::string_view row) {
    world.Must(ParseCommand(world, absl::StrCat("inventories cn1@ ", row)));
    return world.place("cn1").config().inventories[0].capacity;
  };
  EXPECT_EQ(capacity("VCPU:3 ratio 1.5"), 4);              // P-27
  EXPECT_EQ(capacity("VCPU:10 ratio 0.1"), 1);             // P-27
  EXPECT_EQ(capacity("VCPU:100 ratio 0.29"), 28);          // P-27, D-35
  EXPECT_EQ(capacity("VCPU:10 reserved 10 ratio 16"), 0);  // P-16
  EXPECT_EQ(capacity("VCPU:10 reserved 2 ratio 2"), 16);   // P-27
}

}  // namespace
}  // namespace berth::placement
