// The fair lock: waiters get it in the order in which they came.
#include "tracker/ground/fair_mutex.h"

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tracker/ground/boot_clock.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;

TEST(FairMutex, WaitersGetItInTheirOrder) {  // T-59
  FairMutex mutex;
  std::vector<int> order;
  std::vector<std::thread> threads;
  mutex.Lock();
  for (int number = 0; number < 8; ++number) {
    const uint64_t waiting = mutex.waiting();
    threads.emplace_back([&, number] {
      const FairLock lock(&mutex);
      order.push_back(number);
    });
    while (mutex.waiting() == waiting) std::this_thread::yield();
  }
  mutex.Unlock();
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));  // T-59
}

TEST(FairMutex, WhoComesBackWaitsBehindTheOthers) {
  FairMutex mutex;
  bool passed_over = true;
  mutex.Lock();
  std::thread waiter([&] {
    const FairLock lock(&mutex);
    passed_over = false;
  });
  while (mutex.waiting() == 0) std::this_thread::yield();
  mutex.Unlock();
  mutex.Lock();               // as a pass does that follows another at once
  EXPECT_FALSE(passed_over);  // T-59
  mutex.Unlock();
  waiter.join();
}

TEST(FairMutex, OneThreadHoldsItAtATime) {  // T-58
  FairMutex mutex;
  int64_t count = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const FairLock lock(&mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 8000);  // T-58
}

TEST(FairMutex, MeasuresWaitsAndHolds) {  // T-62
  using Clock = BootClock;
  FairMutex mutex;
  mutex.Lock();
  std::thread waiter([&] { const FairLock lock(&mutex); });
  while (mutex.waiting() == 0) std::this_thread::yield();
  const Clock::time_point until = Clock::now() + std::chrono::milliseconds(2);
  while (Clock::now() < until) std::this_thread::yield();
  mutex.Unlock();
  waiter.join();
  const LockTimes times = mutex.times();
  for (const TimeCounts* counts : {&times.waits, &times.holds}) {
    EXPECT_EQ(std::accumulate(counts->counts.begin(), counts->counts.end(), uint64_t{0}), 2u);
    EXPECT_GE(counts->sum_seconds, 0.002);  // T-62
    // The first three bounds are below 2 ms.
    EXPECT_LE(counts->counts[0] + counts->counts[1] + counts->counts[2], 1u);
  }
}

}  // namespace
}  // namespace berth::tracker
