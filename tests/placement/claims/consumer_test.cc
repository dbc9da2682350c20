#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/script.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

// Errors by precedence: each line repairs the one before it.
TEST(RulesConsumer, AdjustLadder) {
  World world("cn1{VCPU:8 used 4 min 2, DISK_GB:10}\ncn2");
  RunScript(world, R"(
    claim c1 new cn1{VCPU:2, DISK_GB:4}                OK
    adjust c2@ gone{NO_SUCH:0}                         INVALID_FIELD
    adjust c2@ gone{NO_SUCH:9}                         CONSUMER_NOT_FOUND
    adjust c1@stale gone{NO_SUCH:9}                    CONSUMER_GENERATION_CONFLICT
    adjust c1@ gone{VCPU:-9} cn1{NO_SUCH:-9}           PROVIDER_NOT_FOUND
    adjust c1@ cn1{NO_SUCH:-9, DISK_GB:-9}             RESOURCE_CLASS_NOT_FOUND
    adjust c1@ cn1{VCPU:-1, DISK_GB:-9} cn2{VCPU:1}    NEGATIVE_ALLOCATION
    adjust c1@ cn2{VCPU:-1}                            NEGATIVE_ALLOCATION
    adjust c1@ cn1{VCPU:-1} cn2{VCPU:1}                NO_INVENTORY
    adjust c1@ cn1{VCPU:-1, DISK_GB:7}                 UNIT_CONSTRAINT_VIOLATED
    adjust c1@ cn1{DISK_GB:2147483647}                 UNIT_CONSTRAINT_VIOLATED
    adjust c1@ cn1{VCPU:3}                             CAPACITY_EXCEEDED
    adjust c1@ cn1{VCPU:2}                             OK                       # D-19
    adjust c1 cn1{VCPU:-4, DISK_GB:-4}                 OK                       # P-125
    adjust c1 cn1{VCPU:2}                              CONSUMER_NOT_FOUND       # P-125
  )");
}

TEST(RulesConsumer, AdjustForm) {
  World world("cn1{VCPU:8 used 4}");
  RunScript(world, R"(
    adjust held-by-cn1@ cn1{VCPU:-2147483648}          INVALID_FIELD
    adjust held-by-cn1@ cn1{VCPU:2147483648}           INVALID_FIELD
    adjust held-by-cn1@ cn1{vcpu:1}                    INVALID_FIELD
    adjust held-by-cn1@ cn1{}                          INVALID_FIELD
    adjust held-by-cn1@ cn1{VCPU:1, VCPU:1}            DUPLICATE_PARAMETER
    adjust held-by-cn1@ cn1{VCPU:1} cn1{DISK_GB:1}     DUPLICATE_PARAMETER
    adjust held-by-cn1@ cn1{VCPU:-2147483647}          NEGATIVE_ALLOCATION
  )");
  const auto reason = [&](int providers) {
    AdjustAllocations adjust{world.consumer("held-by-cn1"), std::nullopt, {}};
    for (int i = 0; i < providers; ++i) {
      adjust.adjustments.push_back({world.provider(absl::StrCat("p", i)), {{"VCPU", 1}}});
    }
    return RefusalOf(world.Do(adjust).status())->reason;
  };
  EXPECT_EQ(reason(0), "INVALID_FIELD");
  EXPECT_EQ(reason(256), "PROVIDER_NOT_FOUND");
  EXPECT_EQ(reason(257), "INVALID_FIELD");
}

// No series of adjustments leaves a consumer more providers than one claim could give it.
TEST(RulesConsumer, AdjustKeepsToTheProvidersOfOneConsumer) {
  std::string fleet;
  for (int i = 0; i < 258; ++i) absl::StrAppend(&fleet, "p", i, "{VCPU:8}\n");
  World world(fleet);
  RunScript(world, "claim c1 new p0{VCPU:1}    OK");
  const auto adjust = [&](int begin, int end, Amount first) {
    AdjustAllocations adjust{world.consumer("c1"), std::nullopt, {}};
    if (first != 0) adjust.adjustments.push_back({world.provider("p0"), {{"VCPU", first}}});
    for (int i = begin; i < end; ++i) {
      adjust.adjustments.push_back({world.provider(absl::StrCat("p", i)), {{"VCPU", 1}}});
    }
    return world.Do(adjust).status();
  };
  EXPECT_EQ(adjust(1, 256, 0), absl::OkStatus());
  EXPECT_EQ(RefusalOf(adjust(256, 257, 0))->reason, "INVALID_FIELD");
  EXPECT_EQ(RefusalOf(adjust(256, 258, -1))->reason, "INVALID_FIELD");
  EXPECT_EQ(adjust(256, 257, -1), absl::OkStatus());
}

// What is not adjusted stays, whatever became of its inventory; what ends at zero is not refused.
TEST(RulesConsumer, AdjustLooksOnlyAtWhatItChanges) {
  World world("cn1{VCPU:8, DISK_GB:10, MEMORY_MB:64}\ncn2{VCPU:4}");
  RunScript(world, R"(
    claim c1 new cn1{VCPU:6, DISK_GB:8, MEMORY_MB:1} cn2{VCPU:2} for p/u/T   OK
    inventories cn1@ VCPU:4 max 2, DISK_GB:4 max 2, MEMORY_MB:64             OK   # P-89
    adjust c1@ cn1{MEMORY_MB:1}                                              OK
    adjust c1@ cn1{VCPU:-1}                                                  UNIT_CONSTRAINT_VIOLATED
    inventories cn1@ VCPU:4 max 8, DISK_GB:4 max 2, MEMORY_MB:64             OK
    adjust c1@ cn1{VCPU:1}                                                   CAPACITY_EXCEEDED
    adjust c1@ cn1{VCPU:-1}                                                  OK   # P-133
    adjust c1@ cn1{VCPU:-5, DISK_GB:-8}                                      OK   # P-135
  )");
  EXPECT_EQ(world.used("cn1", "MEMORY_MB"), 2);
  EXPECT_EQ(world.used("cn2", "VCPU"), 2);
  const ConsumerPtr consumer = world.state().FindConsumer(world.consumer("c1"));
  EXPECT_EQ(consumer->owner->project, "p");
  EXPECT_EQ(consumer->owner->type, "T");
}

TEST(RulesConsumer, AdjustMovesWhatItTouches) {
  World world("cn1{VCPU:8}\ncn2{VCPU:4}");
  RunScript(world, "claim c1 new cn1{VCPU:2} cn2{VCPU:2}   OK");
  const Generation c1 = *world.consumer_generation("c1");
  const Generation cn1 = world.allocation_generation("cn1");
  const Generation cn2 = world.allocation_generation("cn2");
  RunScript(world, "adjust c1 cn1{VCPU:1}   OK");
  EXPECT_EQ(*world.consumer_generation("c1"), c1.Next());     // P-119
  EXPECT_EQ(world.allocation_generation("cn1"), cn1.Next());  // P-93
  EXPECT_EQ(world.allocation_generation("cn2"), cn2);         // P-93: its rows stay
  RunScript(world, "adjust c1 cn2{VCPU:-2}   OK");
  EXPECT_EQ(world.allocation_generation("cn2"), cn2.Next());  // P-93
  EXPECT_EQ(world.allocation_generation("cn1"), cn1.Next());
}

TEST(RulesConsumer, ReleaseManyAtOnce) {
  World world("cn1{VCPU:8}\ncn2{VCPU:4}");
  RunScript(world, R"(
    claim c1 new cn1{VCPU:2} & c2 new cn1{VCPU:2} cn2{VCPU:1} & c3 new cn2{VCPU:1}   OK
    drop c1 c1                  DUPLICATE_PARAMETER
    drop c1@ c2@stale c3@       CONSUMER_GENERATION_CONFLICT
    drop c1@ c2 nobody@ c4      OK
    drop c1@ c2                 OK
  )");
  EXPECT_EQ(world.used("cn1", "VCPU"), 0);
  EXPECT_EQ(world.used("cn2", "VCPU"), 1);
  EXPECT_FALSE(world.consumer_generation("c2").has_value());  // P-125
  EXPECT_TRUE(world.consumer_generation("c3").has_value());
  EXPECT_TRUE(world.Must(ParseCommand(world, "drop c1")).changes.empty());
}

TEST(RulesConsumer, ReleaseNamesAllThatAreStale) {
  World world("cn1{VCPU:8}");
  RunScript(world, "claim c1 new cn1{VCPU:2} & c2 new cn1{VCPU:2}   OK");
  const auto refusal =
      RefusalOf(world.Do(ParseCommand(world, "drop c1@stale nobody@stale c2@stale")).status());
  ASSERT_EQ(refusal->items.size(), 2u);
  EXPECT_EQ(refusal->items[1].at("consumer"), world.consumer("c2").ToString());
  EXPECT_EQ(refusal->items[1].at("field"), "consumers[2].expected_generation");
  const auto reason = [&](int count) {
    ReleaseConsumers drop;
    for (int i = 0; i < count; ++i) {
      drop.consumers.push_back({world.consumer(absl::StrCat("n", i)), std::nullopt});
    }
    const auto outcome = world.Do(drop);
    return outcome.ok() ? "OK" : RefusalOf(outcome.status())->reason;
  };
  EXPECT_EQ(reason(0), "INVALID_FIELD");
  EXPECT_EQ(reason(1000), "OK");
  EXPECT_EQ(reason(1001), "INVALID_FIELD");
}

}  // namespace
}  // namespace berth::placement
