#include "tracker/facts/monitors.h"

#include "absl/strings/str_cat.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

std::vector<Metric> CpuMetrics(const CpuTimes& times, const std::optional<CpuTimes>& before,
                               int64_t mhz, absl::Time now) {
  std::vector<Metric> metrics;
  const auto add = [&metrics, now](absl::string_view name, double value) {
    metrics.push_back({absl::StrCat("cpu.", name), value, now, kCpuMonitor});
  };
  const CpuTimes base = before && before->Sum() <= times.Sum() ? *before : CpuTimes();
  const int64_t passed = times.Sum() - base.Sum();
  const auto add_percent = [&](absl::string_view name, int64_t part) {
    if (passed > 0) add(name, static_cast<double>(part * 100 / passed) / 100);
  };
  add("frequency", static_cast<double>(mhz));
  int64_t busy = 0;
  const struct {
    const char* name;
    int64_t CpuTimes::*time;
    bool busy;
  } kKinds[] = {{"user", &CpuTimes::user, true},
                {"kernel", &CpuTimes::kernel, true},
                {"idle", &CpuTimes::idle, false},
                {"iowait", &CpuTimes::iowait, true}};
  for (const auto& kind : kKinds) {
    const int64_t part = times.*kind.time - base.*kind.time;
    add(absl::StrCat(kind.name, ".time"), static_cast<double>(times.*kind.time));
    add_percent(absl::StrCat(kind.name, ".percent"), part);
    if (kind.busy) busy += part;
  }
  add_percent("percent", busy);
  return metrics;
}

}  // namespace berth::tracker
