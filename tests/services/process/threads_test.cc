// Workers and loops: bounded, and all their work is done when they are gone.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "services/process/loops.h"
#include "services/process/workers.h"

namespace berth::services {
namespace {

TEST(WorkersTest, DoesEverythingItAccepted) {
  std::atomic<int> done{0};
  {
    Workers workers(3, 1000);
    for (int i = 0; i < 500; ++i) ASSERT_TRUE(workers.Submit([&done] { ++done; }));
  }
  EXPECT_EQ(done, 500);
}

TEST(WorkersTest, RefusesAtOnceWhenFull) {
  std::promise<void> begun, release;
  std::shared_future<void> released(release.get_future());
  Workers workers(1, 2);
  ASSERT_TRUE(workers.Submit([&] {
    begun.set_value();
    released.wait();
  }));
  begun.get_future().wait();
  EXPECT_TRUE(workers.Submit([] {}));
  EXPECT_TRUE(workers.Submit([] {}));
  EXPECT_EQ(workers.queue_length(), 2);
  EXPECT_FALSE(workers.Submit([] {}));
  release.set_value();
}

TEST(WorkersTest, LeavesOneCoreToTheLedger) {
  EXPECT_EQ(Workers::CountFor(1), 1);
  EXPECT_EQ(Workers::CountFor(2), 1);
  EXPECT_EQ(Workers::CountFor(8), 7);
}

TEST(LoopTest, RepeatsItsStepAndEndsAtOnce) {
  std::atomic<int> steps{0};
  std::promise<void> third;
  const absl::Time begun = absl::Now();
  {
    Loop loop("test", [&] {
      if (++steps == 3) third.set_value();
      return steps < 3 ? absl::Milliseconds(1) : absl::Hours(1);
    });
    third.get_future().wait();
  }
  EXPECT_EQ(steps, 3);
  EXPECT_LT(absl::Now() - begun, absl::Seconds(30));
}

TEST(FollowPaceTest, IsQuickWhileRowsComeAndBacksOff) {
  FollowPace pace;
  EXPECT_EQ(pace.After(0), absl::Milliseconds(4));  // no row has come yet
  EXPECT_EQ(pace.After(2), absl::Milliseconds(2));
  for (int i = 1; i < 50; ++i) EXPECT_EQ(pace.After(0), absl::Milliseconds(2)) << i;
  EXPECT_EQ(pace.After(0), absl::Milliseconds(4));
  EXPECT_EQ(pace.After(0), absl::Milliseconds(8));
  EXPECT_EQ(pace.After(1), absl::Milliseconds(2));
  EXPECT_EQ(pace.After(0), absl::Milliseconds(2));
  EXPECT_EQ(pace.After(absl::UnavailableError("")), absl::Milliseconds(4));
  for (int i = 0; i < 10; ++i) pace.After(0);
  EXPECT_EQ(pace.After(0), absl::Milliseconds(100));
}

}  // namespace
}  // namespace berth::services
