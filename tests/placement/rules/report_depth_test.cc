// A report about a tree that is as deep as a peer likes.
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "placement/ground/boot_clock.h"
#include "tests/worlds/fleet_world.h"

namespace berth::placement {
namespace {

TEST(RulesReportDepth, ADeepTreeIsReadOnce) {
  FleetWorld fleet;
  fleet.Register("h1", 1, "machine-a");
  constexpr int kDepth = 25'000;
  constexpr int kInReport = 2'000;
  ApplyReport report = fleet.MakeReport("h1", 1, "cn1", 1);
  ReportedProvider next = report.providers[0];
  for (int i = 1; i < kDepth; ++i) {
    next.parent = std::exchange(next.id, ProviderId{Uuid{77, static_cast<uint64_t>(i)}});
    next.name = absl::StrCat("p", i);
    report.providers.push_back(next);
    if (report.providers.size() < kInReport && i + 1 < kDepth) continue;
    ASSERT_EQ(fleet.Send(report), "OK");
    report = fleet.MakeReport("h1", 1, "cn1", report.sequence + 1);
    report.providers.clear();
    report.complete = false;
  }
  report = fleet.MakeReport("h1", 1, "cn1", report.sequence);
  const BootTime begun = BootNow();
  ASSERT_EQ(fleet.Send(report), "OK");
  EXPECT_LT(BootNow() - begun, absl::Seconds(1));
  EXPECT_EQ(fleet.world.place("cn1").tree->size(), 1);
}

}  // namespace
}  // namespace berth::placement
