// When passes run.
#include "tracker/node/schedule.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/facts/test_data.h"

namespace berth::tracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

const MonotonicTime kStart{std::chrono::hours(10)};

PassSchedule::Options Every(int interval_seconds) {
  PassSchedule::Options options;
  options.interval = seconds(interval_seconds);
  options.first_delay_max = milliseconds(0);
  return options;
}

TEST(Schedule, TicksWithLittleJitterAndNoDrift) {  // T-44
  PassSchedule schedule(Every(60), kStart);
  EXPECT_FALSE(schedule.Due(kStart));  // not at once
  for (int tick = 1; tick <= 100; ++tick) {
    const MonotonicTime due = *schedule.NextDue();
    EXPECT_GE(due, kStart + seconds(60) * tick);
    EXPECT_LE(due, kStart + seconds(60) * tick + seconds(3));
    EXPECT_THAT(schedule.Begin(due + milliseconds(500)), ElementsAre(PassCause::kInterval));
    schedule.End();
  }
}

TEST(Schedule, DropsTicksThatAnOverrunMissed) {  // T-44
  PassSchedule schedule(Every(60), kStart);
  const MonotonicTime late = kStart + seconds(400);
  schedule.Begin(late);
  schedule.End();
  EXPECT_GE(*schedule.NextDue(), late + seconds(59));
  EXPECT_FALSE(schedule.Due(late + seconds(1)));
}

TEST(Schedule, SpreadsTheFirstTick) {  // T-29
  std::set<int64_t> firsts;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    PassSchedule::Options options = Every(60);
    options.first_delay_max = seconds(60);
    options.seed = seed;
    const auto first = *PassSchedule(options, kStart).NextDue() - kStart;
    EXPECT_GE(first, seconds(60));
    EXPECT_LE(first, seconds(123));
    firsts.insert(std::chrono::duration_cast<seconds>(first).count());
  }
  EXPECT_GT(firsts.size(), 20u);
}

TEST(Schedule, WithoutIntervalRunsOnlyOnRequest) {  // T-44
  PassSchedule::Options options;
  PassSchedule schedule(options, kStart);
  EXPECT_EQ(schedule.NextDue(), std::nullopt);
  schedule.Request(PassCause::kRequest, kStart);
  EXPECT_TRUE(schedule.Due(kStart));  // T-46
  EXPECT_THAT(schedule.Begin(kStart), ElementsAre(PassCause::kRequest));
}

TEST(Schedule, GathersEventsIntoOnePass) {
  PassSchedule schedule(Every(60), kStart);
  for (int i = 0; i < 10; ++i) schedule.Request(PassCause::kEvent, kStart + milliseconds(i));
  EXPECT_FALSE(schedule.Due(kStart + milliseconds(49)));
  EXPECT_TRUE(schedule.Due(kStart + milliseconds(50)));  // from the first event: none can starve it
  EXPECT_THAT(schedule.Begin(kStart + milliseconds(50)), ElementsAre(PassCause::kEvent));
  schedule.End();
  EXPECT_FALSE(schedule.Due(kStart + seconds(1)));
}

TEST(Schedule, CoalescesWhatComesDuringAPass) {  // T-45, T-46
  PassSchedule schedule(Every(60), kStart);
  schedule.Request(PassCause::kReconnect, kStart);
  schedule.Begin(kStart);
  for (int i = 0; i < 5; ++i) schedule.Request(PassCause::kRequest, kStart + seconds(1));
  schedule.Request(PassCause::kReload, kStart + seconds(2));
  EXPECT_EQ(schedule.NextDue(), std::nullopt);
  schedule.End();
  EXPECT_TRUE(schedule.Due(kStart + seconds(2)));
  EXPECT_THAT(schedule.Begin(kStart + seconds(2)),
              ElementsAre(PassCause::kRequest, PassCause::kReload));
  schedule.End();
  EXPECT_FALSE(schedule.Due(kStart + seconds(3)));
}

TEST(Schedule, ConfirmsAtItsTime) {
  PassSchedule schedule(Every(60), kStart);
  schedule.RequestAt(kStart + seconds(5));
  schedule.RequestAt(kStart + seconds(7));
  EXPECT_EQ(schedule.NextDue(), kStart + seconds(5));
  schedule.Request(PassCause::kEvent, kStart);
  schedule.Begin(kStart + seconds(1));  // an earlier pass does not confirm
  schedule.End();
  EXPECT_THAT(schedule.Begin(kStart + seconds(5)), ElementsAre(PassCause::kConfirm));
}

TEST(Schedule, StopsForGood) {  // T-47
  PassSchedule schedule(Every(60), kStart);
  schedule.Request(PassCause::kRequest, kStart);
  schedule.Stop();
  EXPECT_FALSE(schedule.Due(kStart + seconds(1000)));
}

TEST(Schedule, NeverOverlapsAndNeverForgets) {
  std::mt19937_64 random(TestSeed());
  PassSchedule schedule(Every(10), kStart);
  MonotonicTime now = kStart;
  bool running = false;
  bool waiting = false;
  MonotonicTime since = kStart;
  for (int step = 0; step < 20000; ++step) {
    now += milliseconds(random() % 400);
    if (random() % 3 == 0) {
      schedule.Request(PassCause::kEvent, now);
      if (!waiting) since = now;
      waiting = true;
    }
    if (running && random() % 2 == 0) {
      schedule.End();
      running = false;
    }
    if (running) {
      EXPECT_EQ(schedule.NextDue(), std::nullopt);  // T-45
    } else if (schedule.Due(now)) {
      schedule.Begin(now);
      running = true;
      waiting = false;
    } else {
      EXPECT_TRUE(!waiting || now < since + milliseconds(50));
    }
  }
}

}  // namespace
}  // namespace berth::tracker
