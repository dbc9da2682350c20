// Gate: stands in a ledger's way, closed for one step of its writer at a time.
//
// Thread-safe. To be given to LedgerOptions::at_step.
#ifndef BERTH_TESTS_PLACEMENT_LEDGER_GATE_H_
#define BERTH_TESTS_PLACEMENT_LEDGER_GATE_H_

#include <gtest/gtest.h>

#include <chrono>

#include "placement/ground/mutex.h"
#include "placement/publish/options.h"

namespace berth::placement {

class Gate {
 public:
  // For `step`, and open for all others: who stands at the gate for another one goes on.
  void Close(LedgerStep step) {
    const MutexLock lock(&mutex_);
    step_ = step;
    closed_ = true;
    waiting_ = false;
    changed_.SignalAll();
  }
  void Open() {
    const MutexLock lock(&mutex_);
    closed_ = false;
    changed_.SignalAll();
  }
  void Pass(LedgerStep step) {
    const MutexLock lock(&mutex_);
    while (closed_ && step == step_) {
      waiting_ = true;
      changed_.SignalAll();
      changed_.Wait(&mutex_);
    }
  }
  // Whether the writer stands at the gate, or stood there when it was opened.
  bool reached() const {
    const MutexLock lock(&mutex_);
    return waiting_;
  }
  // Until the writer stands at the gate. A writer that does not come within 30 s is a failure of
  // the test; the gate then opens, so that the test ends.
  void AwaitWriter() {
    const std::chrono::steady_clock::time_point until =
        std::chrono::steady_clock::now() + std::chrono::seconds(30);
    const MutexLock lock(&mutex_);
    while (!waiting_ && std::chrono::steady_clock::now() < until) {
      changed_.WaitFor(&mutex_, std::chrono::seconds(1));
    }
    EXPECT_TRUE(waiting_) << "the writer does not come to the gate";
    if (waiting_) return;
    closed_ = false;
    changed_.SignalAll();
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  LedgerStep step_ ABSL_GUARDED_BY(mutex_) = LedgerStep::kBeforeLock;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_PLACEMENT_LEDGER_GATE_H_
