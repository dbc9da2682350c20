#include "tracker/hypervisor/uptime.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace berth::tracker {

absl::StatusOr<std::string> UptimeLine(absl::string_view proc_uptime,
                                       absl::string_view proc_loadavg, absl::Time now,
                                       absl::TimeZone zone) {
  const std::vector<absl::string_view> up =
      absl::StrSplit(proc_uptime, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  const std::vector<absl::string_view> load =
      absl::StrSplit(proc_loadavg, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  double seconds = 0;
  if (up.empty() || !absl::SimpleAtod(up[0], &seconds) || seconds < 0) {
    return absl::InvalidArgumentError("the contents of /proc/uptime cannot be understood");
  }
  if (load.size() < 3)
    return absl::InvalidArgumentError("the contents of /proc/loadavg cannot be understood");
  const int64_t minutes = static_cast<int64_t>(seconds) / 60;
  const int64_t days = minutes / (24 * 60);
  const int64_t hours = minutes / 60 % 24;
  std::string line = absl::StrCat(" ", absl::FormatTime("%H:%M:%S", now, zone), " up ");
  if (days != 0) absl::StrAppend(&line, days, days == 1 ? " day, " : " days, ");
  if (hours != 0) {
    absl::StrAppendFormat(&line, "%2d:%02d,", hours, minutes % 60);
  } else {
    absl::StrAppend(&line, minutes % 60, " min,");
  }
  absl::StrAppend(&line, "  load average: ", load[0], ", ", load[1], ", ", load[2]);
  return line;
}

}  // namespace berth::tracker
