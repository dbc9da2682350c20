// Loop: a thread that repeats one step. The step itself says when it wants to be called again.
//
// Libraries offer steps but own no threads for them; each process makes the loops. Thread-safe.
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
  // Calls `step` on a new thread called `name`, again and again, each time after the duration that
  // `step` returned.
  Loop(const char* name, std::function<absl::Duration()> step);
  // Waits until the running step, if there is one, returns. No further step begins.
  ~Loop();

 private:
  void Run(const char* name);

  const std::function<absl::Duration()> step_;
  placement::Mutex mutex_;
  placement::CondVar wake_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// How long the ledger's follower waits between polls: 2 ms until 50 polls in a row have found no new
// row. Then the wait grows to 100 ms. A process that writes alone never polls faster than that,
// because the follower counts only rows of other processes.
class FollowPace {
 public:
  absl::Duration After(const absl::StatusOr<int>& polled);

 private:
  int quick_left_ = 0;  // so many more polls without a row come quickly
  absl::Duration wait_ = absl::Milliseconds(2);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_LOOPS_H_
