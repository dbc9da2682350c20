// What monitors measure.
#include "tracker/facts/monitors.h"

#include <gtest/gtest.h>

#include <map>

namespace berth::tracker {
namespace {

using Values = std::map<std::string, double>;

Values ValuesOf(const std::vector<Metric>& metrics) {
  Values values;
  for (const Metric& metric : metrics) {
    EXPECT_EQ(metric.source, "cpu.virt_driver");
    EXPECT_EQ(metric.measured_at, absl::UnixEpoch());
    values[metric.name] = metric.value;
  }
  return values;
}

TEST(Monitors, MeasureTheCpus) {
  const CpuTimes times{3000, 1000, 5000, 1000};
  const Values since_boot = ValuesOf(CpuMetrics(times, std::nullopt, 2400, absl::UnixEpoch()));
  EXPECT_EQ(since_boot, (Values{{"cpu.frequency", 2400},
                                {"cpu.user.time", 3000},
                                {"cpu.kernel.time", 1000},
                                {"cpu.idle.time", 5000},
                                {"cpu.iowait.time", 1000},
                                {"cpu.user.percent", 0.3},
                                {"cpu.kernel.percent", 0.1},
                                {"cpu.idle.percent", 0.5},
                                {"cpu.iowait.percent", 0.1},
                                {"cpu.percent", 0.5}}));  // T-102
  const CpuTimes later{3001, 1001, 5001, 1000};
  Values since = ValuesOf(CpuMetrics(later, times, 2400, absl::UnixEpoch()));
  EXPECT_EQ(since["cpu.user.percent"], 0.33);  // whole percents
  EXPECT_EQ(since["cpu.iowait.percent"], 0);
  EXPECT_EQ(since["cpu.percent"], 0.66);
}

TEST(Monitors, LeaveOutPercentagesIfNoTimeHasPassed) {
  const CpuTimes times{3000, 1000, 5000, 1000};
  const Values values = ValuesOf(CpuMetrics(times, times, 2400, absl::UnixEpoch()));
  EXPECT_EQ(values.count("cpu.percent"), 0u);  // T-102
  EXPECT_EQ(values.count("cpu.user.percent"), 0u);
  EXPECT_EQ(values.at("cpu.user.time"), 3000);
}

TEST(Monitors, MeasureALargeHostThatRunsForLong) {
  constexpr double kDay = 86400e9;
  const CpuTimes times{100 * 1024 * kDay, 0, 300 * 1024 * kDay, 0};  // 1,024 CPUs, 400 days
  const Values since_boot = ValuesOf(CpuMetrics(times, std::nullopt, 2400, absl::UnixEpoch()));
  EXPECT_EQ(since_boot.at("cpu.user.percent"), 0.25);  // T-102
  EXPECT_EQ(since_boot.at("cpu.idle.percent"), 0.75);
}

TEST(Monitors, CountNoTimeThatRanBackwards) {
  const CpuTimes before{3000, 1000, 5000, 1000};
  const Values values =
      ValuesOf(CpuMetrics({3100, 1000, 4950, 1000}, before, 0, absl::UnixEpoch()));
  EXPECT_EQ(values.at("cpu.idle.percent"), 0);
  EXPECT_EQ(values.at("cpu.user.percent"), 1);
  EXPECT_EQ(values.at("cpu.percent"), 1);
}

TEST(Monitors, BeginAnewAfterAReboot) {
  const CpuTimes before{3000, 1000, 5000, 1000};
  const Values values = ValuesOf(CpuMetrics({10, 0, 30, 0}, before, 2400, absl::UnixEpoch()));
  EXPECT_EQ(values.at("cpu.user.percent"), 0.25);
}

}  // namespace
}  // namespace berth::tracker
