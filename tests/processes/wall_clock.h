// WallClock: the wall clock of some processes, which a test sets forwards or back while they run.
//
// Owns a file that the processes read (see stepped_clock.cc). Thread-safe.
#ifndef BERTH_TESTS_PROCESSES_WALL_CLOCK_H_
#define BERTH_TESTS_PROCESSES_WALL_CLOCK_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/processes/private_cluster.h"

namespace berth::e2e {

class WallClock {
 public:
  WallClock() { SetAhead(absl::ZeroDuration()); }

  // Sets the clock to the true time and `by`, in whole seconds.
  void SetAhead(absl::Duration by) const;
  // `command` with this clock.
  std::vector<std::string> Under(const std::vector<std::string>& command) const;

 private:
  const placement::ScratchDirectory directory_;
  const std::string path_ = directory_.path() + "/clock";
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_PROCESSES_WALL_CLOCK_H_
