// A report about a tree that is as deep as a peer likes.
#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "placement/ground/boot_clock.h"
#include "tests/worlds/fleet_world.h"

namespace berth::placement {
namespace {

constexpr int kProviders = 8'000;
constexpr int kInReport = 2'000;

// How long it takes to decide a report that takes all providers but the root away. Each provider is
// below the one before it, or below the root.
absl::Duration TimeToRemoveAll(bool deep) {
  FleetWorld fleet;
  fleet.Register("h1", 1, "machine-a");
  ApplyReport report = fleet.MakeReport("h1", 1, "cn1", 1);
  ReportedProvider next = report.providers[0];
  next.parent = next.id;
  for (int i = 1; i < kProviders; ++i) {
    if (deep) next.parent = next.id;
    next.id = ProviderId{Uuid{77, static_cast<uint64_t>(i)}};
    next.name = absl::StrCat("p", i);
    report.providers.push_back(next);
    if (report.providers.size() < kInReport && i + 1 < kProviders) continue;
    EXPECT_EQ(fleet.Send(report), "OK");
    report = fleet.MakeReport("h1", 1, "cn1", report.sequence + 1);
    report.providers.clear();
    report.complete = false;
  }
  EXPECT_EQ(fleet.world.place("cn1").tree->size(), kProviders);
  report = fleet.MakeReport("h1", 1, "cn1", report.sequence);
  const BootTime begun = BootNow();
  EXPECT_EQ(fleet.Send(report), "OK");
  const absl::Duration taken = BootNow() - begun;
  EXPECT_EQ(fleet.world.place("cn1").tree->size(), 1);
  return taken;
}

TEST(RulesReportDepth, ADeepTreeCostsNoMoreThanAFlatOne) {
  const absl::Duration flat = TimeToRemoveAll(false);
  // The better of two, since a busy machine stops a process at any time.
  const absl::Duration deep = std::min(TimeToRemoveAll(true), TimeToRemoveAll(true));
  EXPECT_LT(deep, 4 * flat + absl::Milliseconds(20));
}

}  // namespace
}  // namespace berth::placement
