// Builds the line that the program `uptime` prints, from the texts of two files in /proc.
//
// A pure function.
#ifndef BERTH_TRACKER_HYPERVISOR_UPTIME_H_
#define BERTH_TRACKER_HYPERVISOR_UPTIME_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace berth::tracker {

// Returns for example ` 10:02:11 up 3 days,  4:05,  load average: 0.10, 0.20, 0.30` (T-94). The
// number of logged-in users is left out, because /proc does not have it. InvalidArgument if one of
// the texts does not have the form of its file in /proc.
absl::StatusOr<std::string> UptimeLine(absl::string_view proc_uptime,
                                       absl::string_view proc_loadavg, absl::Time now,
                                       absl::TimeZone zone);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_UPTIME_H_
