// What an identity may bring within a day: counted, given back, and anew after 24 hours.
#include "services/access/daily_allowance.h"

#include "gtest/gtest.h"

namespace berth::services {
namespace {

using placement::BootTime;

constexpr BootTime kMorning = absl::Hours(100);
constexpr DailyAmounts kLimits = {1000, 10, 5, 2, kNoDailyLimit};

TEST(DailyUseTest, OfEachKindAsMuchAsIsLeftIsTaken) {
  DailyUse use;
  EXPECT_TRUE(use.IsOver(kMorning));
  const DailyGrant first = use.Take(kLimits, {600, 4, 5, 0, 3}, kMorning);
  EXPECT_EQ(first.taken, (DailyAmounts{600, 4, 5, 0, 3}));
  EXPECT_EQ(first.left, (DailyAmounts{600, 4, 5, 0, kNoDailyLimit}));
  EXPECT_EQ(first.at, kMorning);
  EXPECT_FALSE(use.IsOver(kMorning));
  const DailyGrant second = use.Take(kLimits, {600, 4, 1, 1, 3}, kMorning + absl::Hours(1));
  EXPECT_EQ(second.taken, (DailyAmounts{400, 4, 0, 1, 3}));
  EXPECT_EQ(second.left, (DailyAmounts{400, 4, 0, 1, kNoDailyLimit}));
  EXPECT_EQ(use.used(), (DailyAmounts{1000, 8, 5, 1, 6}));
  use.GiveBack(second.taken, second.at);
  EXPECT_EQ(use.used(), first.taken);
}

TEST(DailyUseTest, ADayBeginsWithTheFirstUseAndLasts24Hours) {
  DailyUse use;
  use.Take(kLimits, {.names = 10}, kMorning);
  const BootTime next = kMorning + absl::Hours(24);
  EXPECT_FALSE(use.IsOver(next - absl::Nanoseconds(1)));
  EXPECT_EQ(use.Take(kLimits, {.names = 1}, next - absl::Nanoseconds(1)).left.names, 0);
  EXPECT_TRUE(use.IsOver(next));
  // Nobody used anything for some days: the next one begins when somebody does.
  const BootTime later = next + absl::Hours(40);
  EXPECT_EQ(use.Take(kLimits, {.names = 11}, later).left.names, 10);
  EXPECT_EQ(use.Take(kLimits, {.names = 1}, later + absl::Hours(23)).left.names, 0);
  EXPECT_EQ(use.Take(kLimits, {.names = 1}, later + absl::Hours(24)).left.names, 1);
}

TEST(DailyUseTest, WhatAnEarlierDayTookIsNotGivenBackToTheNext) {
  DailyUse use;
  const DailyGrant evening = use.Take(kLimits, {.names = 10}, kMorning + absl::Hours(23));
  const BootTime next = evening.at + absl::Hours(24);
  use.Take(kLimits, {.names = 3}, next);
  use.GiveBack(evening.taken, evening.at);
  EXPECT_EQ(use.used().names, 3);
}

// Two streams read the clock, and the one that read it later takes first.
TEST(DailyUseTest, WhatTheDayGaveIsGivenBackThoughTheClockWasReadBeforeItBegan) {
  DailyUse use;
  use.Take(kLimits, {.names = 3}, kMorning);
  const DailyGrant early = use.Take(kLimits, {.names = 2}, kMorning - absl::Nanoseconds(1));
  EXPECT_EQ(use.used().names, 5);
  use.GiveBack(early.taken, early.at);
  EXPECT_EQ(use.used().names, 3);
}

TEST(DailyUseTest, LimitsMayChange) {
  DailyUse use;
  use.Take(kNoDailyLimits, {.names = 7}, kMorning);
  EXPECT_EQ(use.Take({.names = 5}, {.names = 1}, kMorning).left.names, 0);
  EXPECT_EQ(use.Take({.names = 9}, {.names = 5}, kMorning).left.names, 2);
  EXPECT_EQ(use.used().names, 9);
}

}  // namespace
}  // namespace berth::services
