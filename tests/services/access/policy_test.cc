// The rules in force: they change as a whole, and what is remembered for rates is bounded.
#include "services/access/policy.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "services/access/rules_file.h"

namespace berth::services {
namespace {

constexpr placement::BootTime kStart = absl::Hours(1);

RulesInForce InForce(absl::string_view text) {
  RulesInForce made;
  auto rules = ParseRules(text, "f");
  EXPECT_TRUE(rules.ok()) << rules.status();
  if (rules.ok()) made.rules = *std::move(rules);
  return made;
}

TEST(AccessPolicyTest, WithoutAFileNothingIsLimited) {
  AccessPolicy policy;
  EXPECT_EQ(policy.version(), 0);
  EXPECT_TRUE(policy.Admit("scheduler/nova").ok());
  EXPECT_EQ(policy.ProjectsOf("scheduler/nova"), nullptr);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(policy.CountCall("scheduler/nova", kStart).ok());
  EXPECT_EQ(policy.buckets(), 0U);
}

TEST(AccessPolicyTest, TheNewestRulesHold) {
  AccessPolicy policy;
  policy.Put(InForce("denied = [\"reader/a\"]\n[scheduler.s]\nprojects = [\"p\"]\n"));
  EXPECT_EQ(policy.version(), 1);
  EXPECT_FALSE(policy.Admit("reader/a").ok());
  EXPECT_TRUE(policy.ProjectsOf("scheduler/s")->contains("p"));
  policy.Put(InForce("denied = [\"reader/b\"]\n"));
  EXPECT_EQ(policy.version(), 2);
  EXPECT_TRUE(policy.Admit("reader/a").ok());
  EXPECT_FALSE(policy.Admit("reader/b").ok());
  EXPECT_EQ(policy.ProjectsOf("scheduler/s"), nullptr);
}

TEST(AccessPolicyTest, EachIdentityHasARateOfItsOwn) {
  AccessPolicy policy;
  policy.Put(
      InForce("[rates]\nreader = {calls_per_second = 4, burst = 2}\n"
              "\"reader/b\" = {calls_per_second = 4, burst = 1}\n"));
  EXPECT_TRUE(policy.CountCall("reader/a", kStart).ok());
  EXPECT_TRUE(policy.CountCall("reader/a", kStart).ok());
  const absl::Status refused = policy.CountCall("reader/a", kStart);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  const auto refusal = placement::RefusalOf(refused);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, "RATE_LIMITED");
  EXPECT_EQ(refusal->retry_after, absl::Milliseconds(250));
  EXPECT_EQ(refusal->items.at(0).at("identity"), "reader/a");
  EXPECT_TRUE(policy.CountCall("reader/b", kStart).ok());
  EXPECT_FALSE(policy.CountCall("reader/b", kStart).ok());
  EXPECT_TRUE(policy.CountCall("reader/c", kStart).ok());
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(policy.CountCall("operator/a", kStart).ok());
  EXPECT_TRUE(policy.CountCall("reader/a", kStart + absl::Milliseconds(250)).ok());
}

TEST(AccessPolicyTest, WhatIsRememberedIsBounded) {
  AccessPolicy policy;
  policy.Put(InForce("[rates]\ntracker = {calls_per_second = 1, burst = 1}\n"));
  for (size_t i = 0; i < AccessPolicy::kBucketsMax; ++i) {
    ASSERT_TRUE(policy.CountCall(absl::StrCat("tracker/h", i), kStart).ok());
  }
  EXPECT_EQ(policy.buckets(), AccessPolicy::kBucketsMax);
  // A second later all of them are as good as new, and one that calls just then is remembered.
  EXPECT_TRUE(policy.CountCall("tracker/new", kStart + absl::Seconds(1)).ok());
  EXPECT_EQ(policy.buckets(), 1U);
  EXPECT_FALSE(policy.CountCall("tracker/new", kStart + absl::Seconds(1)).ok());
  for (size_t i = 0; i < 2 * AccessPolicy::kBucketsMax; ++i) {
    policy.CountCall(absl::StrCat("tracker/i", i), kStart + absl::Seconds(1)).IgnoreError();
    ASSERT_LE(policy.buckets(), AccessPolicy::kBucketsMax);
  }
}

TEST(AccessPolicyTest, EachTrackerHasADayOfItsOwn) {
  AccessPolicy policy;
  const DailyAmounts two = {.names = 2};
  EXPECT_FALSE(policy.IsDailyLimited("tracker/a"));
  EXPECT_EQ(policy.TakeDaily("tracker/a", two, kStart), std::nullopt);
  policy.Put(InForce("[daily]\ntracker = {names = 3}\n\"tracker/b\" = {names = 1}\n"));
  EXPECT_TRUE(policy.IsDailyLimited("tracker/a"));
  EXPECT_FALSE(policy.IsDailyLimited("scheduler/a"));
  EXPECT_EQ(policy.TakeDaily("scheduler/a", two, kStart), std::nullopt);
  // What one stream holds no other stream gets.
  const auto first = policy.TakeDaily("tracker/a", two, kStart);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->left.names, 2);
  EXPECT_EQ(first->left.nodes, kNoDailyLimit);
  EXPECT_EQ(policy.TakeDaily("tracker/a", two, kStart)->left.names, 1);
  EXPECT_EQ(policy.TakeDaily("tracker/a", two, kStart)->left.names, 0);
  EXPECT_EQ(policy.TakeDaily("tracker/b", two, kStart)->left.names, 1);
  EXPECT_EQ(policy.TakeDaily("tracker/c", two, kStart)->left.names, 2);
  policy.GiveBackDaily("tracker/a", first->taken, kStart);
  EXPECT_EQ(policy.TakeDaily("tracker/a", two, kStart)->left.names, 2);
  // New rules hold at once, and the day goes on.
  policy.Put(InForce("[daily]\ntracker = {names = 4}\n"));
  EXPECT_EQ(policy.TakeDaily("tracker/a", two, kStart)->left.names, 1);
  policy.Put(InForce("# nobody is limited\n"));
  EXPECT_EQ(policy.TakeDaily("tracker/a", two, kStart), std::nullopt);
}

TEST(AccessPolicyTest, WhatIsRememberedOfDaysIsBounded) {
  AccessPolicy policy;
  policy.Put(InForce("[daily]\ntracker = {nodes = 1}\n"));
  const DailyAmounts one = {.nodes = 1};
  for (size_t i = 0; i < AccessPolicy::kDaysMax; ++i) {
    ASSERT_EQ(policy.TakeDaily(absl::StrCat("tracker/h", i), one, kStart)->left.nodes, 1);
  }
  EXPECT_EQ(policy.days(), AccessPolicy::kDaysMax);
  // A day later all days are over.
  EXPECT_EQ(policy.TakeDaily("tracker/new", one, kStart + DailyUse::kDay)->left.nodes, 1);
  EXPECT_EQ(policy.days(), 1U);
  EXPECT_EQ(policy.TakeDaily("tracker/new", one, kStart + DailyUse::kDay)->left.nodes, 0);
  for (size_t i = 0; i < 2 * AccessPolicy::kDaysMax; ++i) {
    policy.TakeDaily(absl::StrCat("tracker/i", i), one, kStart + DailyUse::kDay);
    ASSERT_LE(policy.days(), AccessPolicy::kDaysMax);
  }
}

}  // namespace
}  // namespace berth::services
