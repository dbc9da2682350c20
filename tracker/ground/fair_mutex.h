// FairMutex: a lock that its waiters get in the order in which they came (T-59). FairLock holds it.
//
// Thread-safe. Measures how long threads wait for the lock, and how long they hold it (T-62).
// Claims take a node's lock while passes take it again and again: with a lock that is not fair, a
// pass could take it twice while a claim waits.
#ifndef BERTH_TRACKER_GROUND_FAIR_MUTEX_H_
#define BERTH_TRACKER_GROUND_FAIR_MUTEX_H_

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/check.h"

namespace berth::tracker {

// How many measured times were at most as long as each bound, the longer ones last, and their sum.
struct TimeCounts {
  static constexpr std::array<double, 8> kBoundsSeconds = {0.00001, 0.0001, 0.001, 0.005,
                                                           0.02,    0.05,   0.2,   1};
  std::array<uint64_t, kBoundsSeconds.size() + 1> counts{};
  double sum_seconds = 0;

  void Add(BootClock::duration time) {
    const double seconds = std::chrono::duration<double>(time).count();
    size_t bucket = 0;
    while (bucket < kBoundsSeconds.size() && seconds > kBoundsSeconds[bucket]) ++bucket;
    ++counts[bucket];
    sum_seconds += seconds;
  }
};

struct LockTimes {
  TimeCounts waits;
  TimeCounts holds;
};

class ABSL_LOCKABLE FairMutex {
 public:
  FairMutex() = default;
  FairMutex(const FairMutex&) = delete;
  FairMutex& operator=(const FairMutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    const MonotonicTime began = BootClock::now();
    std::unique_lock<std::mutex> lock(mutex_);
    const uint64_t number = next_++;
    while (served_ != number) changed_.wait(lock);
    BERTH_CHECK(number == last_ + 1);  // nobody was passed over
    last_ = number;
    locked_at_ = BootClock::now();
    times_.waits.Add(locked_at_ - began);
  }

  void Unlock() ABSL_UNLOCK_FUNCTION() {
    const std::lock_guard<std::mutex> lock(mutex_);
    times_.holds.Add(BootClock::now() - locked_at_);
    ++served_;
    changed_.notify_all();
  }

  // How many threads wait for the lock.
  uint64_t waiting() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return next_ - served_ - (last_ == served_ ? 1 : 0);
  }
  LockTimes times() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return times_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t next_ = 1;    // the number of the thread that comes next
  uint64_t served_ = 1;  // the number of the thread that has the lock, or gets it next
  uint64_t last_ = 0;    // the number of the thread that had it last
  MonotonicTime locked_at_;
  LockTimes times_;
};

// Locks `mutex` when it is constructed, and unlocks it when it is destroyed.
class ABSL_SCOPED_LOCKABLE FairLock {
 public:
  explicit FairLock(FairMutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_->Lock();
  }
  ~FairLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  FairLock(const FairLock&) = delete;
  FairLock& operator=(const FairLock&) = delete;

 private:
  FairMutex* const mutex_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_GROUND_FAIR_MUTEX_H_
