// Mutex, MutexLock and CondVar: the standard ones with Clang's thread-safety annotations.
//
// The library has its own, as those of the services are not for its users. absl::Mutex is not used,
// because Debian builds Abseil without the thread sanitizer.
#ifndef BERTH_SERVICES_CLIENT_CPP_MUTEX_H_
#define BERTH_SERVICES_CLIENT_CPP_MUTEX_H_

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace berth::client {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

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
  // Waits for a signal, for `timeout` at most; `mutex` is unlocked meanwhile. May return earlier
  // without a signal, so the caller must test its condition in a loop.
  void WaitFor(Mutex* mutex, absl::Duration timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    // A longer wait would overflow the clock; callers look again anyway.
    condition_.wait_for(lock, absl::ToChronoNanoseconds(std::min(timeout, absl::Hours(1))));
    lock.release();
  }
  void SignalAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_MUTEX_H_
