// FairMutex: a lock that its waiters get in the order in which they came (T-59). FairLock holds it.
//
// Thread-safe. Claims take a node's lock while passes take it again and again: with a lock that is
// not fair, a pass could take it twice while a claim waits.
#ifndef BERTH_TRACKER_GROUND_FAIR_MUTEX_H_
#define BERTH_TRACKER_GROUND_FAIR_MUTEX_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "tracker/ground/check.h"

namespace berth::tracker {

class ABSL_LOCKABLE FairMutex {
 public:
  FairMutex() = default;
  FairMutex(const FairMutex&) = delete;
  FairMutex& operator=(const FairMutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    std::unique_lock<std::mutex> lock(mutex_);
    const uint64_t number = next_++;
    while (served_ != number) changed_.wait(lock);
    BERTH_CHECK(number == last_ + 1);  // nobody was passed over
    last_ = number;
  }

  void Unlock() ABSL_UNLOCK_FUNCTION() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++served_;
    changed_.notify_all();
  }

  // How many threads wait for the lock.
  uint64_t waiting() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return next_ - served_ - (last_ == served_ ? 1 : 0);
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t next_ = 1;    // the number of the thread that comes next
  uint64_t served_ = 1;  // the number of the thread that has the lock, or gets it next
  uint64_t last_ = 0;    // the number of the thread that had it last
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
