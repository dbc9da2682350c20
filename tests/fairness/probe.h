// Probe: makes one call after the other at a fixed pace, on a thread of its own.
//
// A call counts from the moment at which it was due. One that is due while another is on its way is
// made at once after that one. Thread-safe.
#ifndef BERTH_TESTS_FAIRNESS_PROBE_H_
#define BERTH_TESTS_FAIRNESS_PROBE_H_

#include <grpcpp/support/status.h>

#include <functional>
#include <thread>

#include "absl/time/time.h"
#include "placement/ground/mutex.h"
#include "tests/fairness/call_tally.h"

namespace berth::fairness {

class Probe {
 public:
  // `call` must end within seconds.
  Probe(absl::Duration each, std::function<grpc::Status()> call);
  // Waits for the call that is on its way.
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // Of the calls since the last Take. One that is on its way counts with the time that it has taken
  // so far, and once more when it has ended.
  CallFigures Take();

 private:
  void Run();

  const absl::Duration each_;
  const std::function<grpc::Status()> call_;
  placement::Mutex mutex_;
  placement::CondVar wake_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time due_ ABSL_GUARDED_BY(mutex_);  // of the next call, or of the one on its way
  CallTally tally_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace berth::fairness

#endif  // BERTH_TESTS_FAIRNESS_PROBE_H_
