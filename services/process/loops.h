// Loop: one thread that repeats a step, as often as the step wishes.
//
// Libraries offer steps; what repeats them lives here. Thread-safe.
#ifndef BERTH_SERVICES_PROCESS_LOOPS_H_
#define BERTH_SERVICES_PROCESS_LOOPS_H_

#include <functional>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/ground/mutex.h"

namespace berth::services {

class Loop {
 public:
  // Calls `step` from a thread of its own, again after the time that it returns, until it ends.
  explicit Loop(std::function<absl::Duration()> step);
  // Waits for the step that runs.
  ~Loop();

 private:
  void Run();

  const std::function<absl::Duration()> step_;
  placement::Mutex mutex_;
  placement::CondVar wake_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// How long a follower waits after its poll: 5 ms while rows come, then longer, up to 100 ms.
class FollowPace {
 public:
  absl::Duration After(const absl::StatusOr<int>& polled);

 private:
  absl::Duration wait_ = absl::Milliseconds(5);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_LOOPS_H_
