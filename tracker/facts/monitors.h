// Computes the measurements of monitors.
//
// Pure functions. The values are for information only; no decision depends on them.
#ifndef BERTH_TRACKER_FACTS_MONITORS_H_
#define BERTH_TRACKER_FACTS_MONITORS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace berth::tracker {

// One value that a monitor measured.
struct Metric {
  std::string name;  // for example cpu.user.percent
  double value = 0;  // percentages are from 0 to 1
  absl::Time measured_at;
  std::string source;  // the name of the monitor
};

// How long the CPUs of a host have spent with each kind of work since the host was booted, all CPUs
// together, in nanoseconds. The sum of 512 CPUs exceeds an int64_t after 208 days, so these are
// floating-point numbers.
struct CpuTimes {
  double user = 0;
  double kernel = 0;
  double idle = 0;
  double iowait = 0;

  double Sum() const { return user + kernel + idle + iowait; }
};

// Returns the metrics of the monitor cpu.virt_driver (T-102): the frequency, the times, and which
// part of the time since `before` went into each kind of work, rounded down to whole percents.
// Without `before`, or if the sum of the times is smaller than before, the parts are those since the
// boot. A single time that is smaller than before has the part 0. If no time has passed, the parts
// are left out.
std::vector<Metric> CpuMetrics(const CpuTimes& times, const std::optional<CpuTimes>& before,
                               int64_t mhz, absl::Time now);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_MONITORS_H_
