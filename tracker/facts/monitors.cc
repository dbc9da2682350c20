#include "tracker/facts/monitors.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {
namespace {

constexpr struct {
  const char* name;
  double CpuTimes::*time;
  bool busy;
} kKinds[] = {{"user", &CpuTimes::user, true},
              {"kernel", &CpuTimes::kernel, true},
              {"idle", &CpuTimes::idle, false},
              {"iowait", &CpuTimes::iowait, true}};

}  // namespace

std::vector<Metric> CpuMetrics(const CpuTimes& times, const std::optional<CpuTimes>& before,
                               int64_t mhz, absl::Time now) {
  const CpuTimes base = before && before->Sum() <= times.Sum() ? *before : CpuTimes();
  // The kernel may correct the times of idle CPUs downwards.
  const auto part = [&](double CpuTimes::*time) { return std::max(0.0, times.*time - base.*time); };
  double passed = 0;
  double busy = 0;
  for (const auto& kind : kKinds) {
    passed += part(kind.time);
    if (kind.busy) busy += part(kind.time);
  }
  std::vector<Metric> metrics;
  const auto add = [&metrics, now](absl::string_view name, double value) {
    metrics.push_back({absl::StrCat("cpu.", name), value, now, kCpuMonitor});
  };
  const auto add_percent = [&](absl::string_view name, double of_passed) {
    if (passed > 0) add(name, std::floor(100 * of_passed / passed) / 100);
  };
  add("frequency", static_cast<double>(mhz));
  for (const auto& kind : kKinds) {
    add(absl::StrCat(kind.name, ".time"), times.*kind.time);
    add_percent(absl::StrCat(kind.name, ".percent"), part(kind.time));
  }
  add_percent("percent", busy);
  return metrics;
}

}  // namespace berth::tracker
