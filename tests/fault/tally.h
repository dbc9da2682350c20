// Tally: the counts of all clients of a run, and the signals between them and the test.
//
// Thread-safe.
#ifndef BERTH_TESTS_FAULT_TALLY_H_
#define BERTH_TESTS_FAULT_TALLY_H_

#include <atomic>
#include <cstdint>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "placement/ground/mutex.h"

namespace berth::fault {

// A number that only rises, and on which threads can wait.
class Count {
 public:
  void Add() {
    const placement::MutexLock lock(&mutex_);
    ++value_;
    risen_.SignalAll();
  }
  int64_t value() const {
    const placement::MutexLock lock(&mutex_);
    return value_;
  }
  // False if the number is still below `goal` at `until`.
  bool Await(int64_t goal, absl::Time until) const {
    const placement::MutexLock lock(&mutex_);
    while (value_ < goal) {
      const absl::Duration left = until - absl::Now();
      if (left <= absl::ZeroDuration()) return false;
      risen_.WaitFor(&mutex_, absl::ToChronoNanoseconds(left));
    }
    return true;
  }

 private:
  mutable placement::Mutex mutex_;
  mutable placement::CondVar risen_;
  int64_t value_ ABSL_GUARDED_BY(mutex_) = 0;
};

struct Tally {
  Count claims;                      // acknowledged, or found done afterwards
  std::atomic<int64_t> full{0};      // refused for lack of capacity
  std::atomic<int64_t> away{0};      // refused because the service could not write just then
  std::atomic<int64_t> refused{0};   // refused for any other reason
  std::atomic<int64_t> unknown{0};   // calls that needed a question for their outcome
  std::atomic<int64_t> found{0};     // of those, the calls that had been done
  std::atomic<int64_t> inquests{0};  // how often all clients had to look up what they hold
  Count looked_up;                   // clients that have done so, over all inquests
  std::atomic<int64_t> holdings{0};  // allocations that were looked up
  std::atomic<bool> stop{false};
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_TALLY_H_
