// Mutex, MutexLock and CondVar: std::mutex and std::condition_variable with the annotations that
// Clang's thread-safety analysis needs.
//
// Thread-safe. A member that a mutex guards is marked with ABSL_GUARDED_BY.
#ifndef BERTH_TRACKER_GROUND_MUTEX_H_
#define BERTH_TRACKER_GROUND_MUTEX_H_

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "tracker/ground/boot_clock.h"

namespace berth::tracker {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Locks `mutex` when it is constructed, and unlocks it when it is destroyed.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

class CondVar {
 public:
  // Waits until NotifyAll() is called or `deadline` passes. Returns false if `deadline` has passed.
  // May return true although NotifyAll() was not called, so the caller must test its condition
  // again.
  bool WaitUntil(Mutex* mutex, MonotonicTime deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

inline bool CondVar::WaitUntil(Mutex* mutex, MonotonicTime deadline) {
  std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
  const bool woken = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
  lock.release();
  return woken;
}

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_GROUND_MUTEX_H_
