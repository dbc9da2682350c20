// Texts that a host gives: /proc/meminfo, /proc/uptime, versions.

#include "gtest/gtest.h"
#include "tracker/facts/version.h"
#include "tracker/hypervisor/host_memory.h"
#include "tracker/hypervisor/uptime.h"

namespace berth::tracker {
namespace {

constexpr char kMeminfo[] =
    "MemTotal:       24064956 kB\nMemFree:        20480000 kB\nMemAvailable:   22000000 kB\n"
    "Buffers:           30001 kB\nCached:          1000000 kB\nSwapCached:       555555 kB\n";

TEST(HostMemory, CountsWhatIsNeitherFreeNorCache) {
  // T-80: SwapCached is not Cached; rounded down.
  EXPECT_EQ(*UsedMemoryMib(kMeminfo), (24064956 - 20480000 - 30001 - 1000000) / 1024);
  EXPECT_EQ(*UsedMemoryMib("MemTotal: 0 kB\nMemFree: 1 kB\nBuffers: 0 kB\nCached: 0 kB\n"), -1);
}

TEST(HostMemory, RefusesATextWithoutAField) {
  const absl::Status status =
      UsedMemoryMib("MemTotal: 1 kB\nMemFree: 1 kB\nSwapCached: 1 kB\n").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("Buffers"), std::string::npos);
}

TEST(Uptime, ReadsLikeTheCommand) {  // T-94
  const absl::Time now = absl::FromUnixSeconds(36131);
  const auto line = [&](const char* up) {
    return *UptimeLine(up, "0.10 0.20 0.30 1/100 42\n", now, absl::UTCTimeZone());
  };
  EXPECT_EQ(line("300.12 500.0\n"), " 10:02:11 up 5 min,  load average: 0.10, 0.20, 0.30");
  EXPECT_EQ(line("7500 1\n"), " 10:02:11 up  2:05,  load average: 0.10, 0.20, 0.30");
  EXPECT_EQ(line("90000 1"), " 10:02:11 up 1 day,  1:00,  load average: 0.10, 0.20, 0.30");
  EXPECT_EQ(line("864060 1"), " 10:02:11 up 10 days, 1 min,  load average: 0.10, 0.20, 0.30");
  EXPECT_FALSE(UptimeLine("x", "0 0 0", now, absl::UTCTimeZone()).ok());
  EXPECT_FALSE(UptimeLine("1 1", "0 0", now, absl::UTCTimeZone()).ok());
}

TEST(Version, IsEncodedAsLibvirtDoes) {  // C-4, T-89
  EXPECT_EQ(EncodeVersion(2, 11, 1), 2011001);
  EXPECT_EQ(EncodeVersion(6, 2, 0), 6002000);
  EXPECT_EQ(EncodeVersion(10, 0, 0), 10000000);
  EXPECT_EQ(VersionText(8002002), "8.2.2");
}

TEST(Version, GatesOldHypervisors) {
  struct Case {
    int64_t libvirt, qemu;
    bool good, advised;
  };
  const Case kCases[] = {
      {EncodeVersion(8, 0, 0), EncodeVersion(6, 2, 0), true, true},
      {EncodeVersion(7, 10, 0), EncodeVersion(6, 2, 0), false, true},
      {EncodeVersion(8, 0, 0), EncodeVersion(6, 1, 99), false, true},
      {EncodeVersion(10, 0, 0), EncodeVersion(8, 2, 1), true, true},
      {EncodeVersion(9, 99, 0), EncodeVersion(8, 2, 2), true, true},
      {EncodeVersion(10, 0, 0), EncodeVersion(8, 2, 2), true, false},
  };
  for (const Case& test : kCases) {
    EXPECT_EQ(CheckVersions(test.libvirt, test.qemu).ok(), test.good) << test.libvirt;      // T-32
    EXPECT_EQ(VersionAdvice(test.libvirt, test.qemu).empty(), !test.advised) << test.qemu;  // T-32
  }
}

}  // namespace
}  // namespace berth::tracker
