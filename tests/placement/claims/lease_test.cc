#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "placement/state/lookup.h"
#include "placement/values/refusal.h"
#include "tests/worlds/script.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

std::optional<absl::Time> LeaseOf(World& world, const char* consumer) {
  const ConsumerPtr found = world.state().FindConsumer(world.consumer(consumer));
  return found ? found->lease_expires_at : std::nullopt;
}

CommandBody ClaimWithLease(World& world, const char* consumer, absl::Duration lease) {
  SetAllocations set{{world.Claim(consumer, "cn1{VCPU:1}")}};
  set.consumers[0].lease = lease;
  return set;
}

// Time moves by one second with each command of a world.
absl::Time Now(const World& world) { return absl::UnixEpoch() + absl::Seconds(world.commands()); }

TEST(RulesLease, Ladder) {
  World world("cn1{VCPU:8 used 4}");
  RunScript(world, R"(
    lease nobody@ 0                INVALID_FIELD
    lease nobody@ 86401            INVALID_FIELD
    lease nobody@ 60               CONSUMER_NOT_FOUND
    lease held-by-cn1@stale 60     CONSUMER_GENERATION_CONFLICT
    lease held-by-cn1@ 60          OK
    lease held-by-cn1 86400        OK
    lease held-by-cn1 confirmed    OK
  )");
  EXPECT_EQ(LeaseOf(world, "held-by-cn1"), std::nullopt);
}

TEST(RulesLease, ALeaseMovesTheConsumerAndNothingElse) {
  World world("cn1{VCPU:8 used 4}");
  const Generation consumer = *world.consumer_generation("held-by-cn1");
  const Generation rows = world.allocation_generation("cn1");
  const Outcome outcome = world.Must(ParseCommand(world, "lease held-by-cn1 60"));
  EXPECT_EQ(LeaseOf(world, "held-by-cn1"), Now(world) + absl::Seconds(60));
  EXPECT_EQ(*world.consumer_generation("held-by-cn1"), consumer.Next());  // P-119
  EXPECT_EQ(world.allocation_generation("cn1"), rows);                    // P-93: no row changed
  EXPECT_EQ(world.used("cn1", "VCPU"), 4);
  ASSERT_EQ(outcome.result.consumers.size(), 1u);
  EXPECT_EQ(outcome.result.consumers[0].second, consumer.Next());
}

TEST(RulesLease, ClaimsSayWhetherTheyHaveOne) {
  World world("cn1{VCPU:8}");
  EXPECT_EQ(RefusalOf(world.Do(ClaimWithLease(world, "c1", absl::Milliseconds(999))).status())
                ->items[0]
                .at("field"),
            "consumers[0].lease");
  world.Must(ClaimWithLease(world, "c1", absl::Seconds(1)));
  EXPECT_EQ(LeaseOf(world, "c1"), Now(world) + absl::Seconds(1));
  world.Must(ClaimWithLease(world, "c1", absl::Hours(24)));
  const std::optional<absl::Time> end = LeaseOf(world, "c1");
  EXPECT_EQ(end, Now(world) + absl::Hours(24));
  RunScript(world, "adjust c1 cn1{VCPU:1}   OK");
  EXPECT_EQ(LeaseOf(world, "c1"), end);  // an adjustment leaves it
  RunScript(world, "claim c1 @ cn1{VCPU:1}   OK");
  EXPECT_EQ(LeaseOf(world, "c1"), std::nullopt);  // a write without one ends it
}

TEST(RulesLease, WhatIsDueIsReleased) {
  World world("cn1{VCPU:8}");
  RunScript(world, "claim c0 new cn1{VCPU:1}   OK");
  world.Must(ClaimWithLease(world, "c1", absl::Seconds(4)));  // ends four commands later
  world.Must(ClaimWithLease(world, "c2", absl::Seconds(5)));
  RunScript(world, "expire now   OK");
  EXPECT_EQ(world.used("cn1", "VCPU"), 3);
  RunScript(world, "expire now   OK");
  EXPECT_EQ(world.used("cn1", "VCPU"), 3);
  const Generation rows = world.allocation_generation("cn1");
  RunScript(world, "expire now   OK");
  EXPECT_EQ(world.used("cn1", "VCPU"), 2);
  EXPECT_EQ(world.allocation_generation("cn1"), rows.Next());
  EXPECT_FALSE(world.consumer_generation("c1").has_value());  // P-125, D-29
  RunScript(world, R"(
    lease c2 60   OK
    expire now    OK
    expire now    OK
    expire now    OK
    claim c1 new cn1{VCPU:1}   OK
  )");
  EXPECT_TRUE(world.consumer_generation("c2").has_value());  // renewed in time
  EXPECT_EQ(world.state().leases().size(), 1);
  RunScript(world, "release c2   OK");
  EXPECT_EQ(FirstLeaseEnd(world.state()), std::nullopt);
}

TEST(RulesLease, ABoundedNumberAtATime) {
  World world("cn1{VCPU:2000}");
  for (int i = 0; i < 600; ++i) {
    world.Must(ClaimWithLease(world, std::to_string(i).c_str(), absl::Seconds(1)));
  }
  RunScript(world, "expire now   OK");
  EXPECT_EQ(world.used("cn1", "VCPU"), 100);
  EXPECT_FALSE(world.consumer_generation("0").has_value());  // the oldest go first
  EXPECT_TRUE(world.consumer_generation("599").has_value());
  RunScript(world, "expire now   OK");
  EXPECT_EQ(world.used("cn1", "VCPU"), 0);
  EXPECT_TRUE(world.Must(ExpireLeases()).changes.empty());
}

}  // namespace
}  // namespace berth::placement
