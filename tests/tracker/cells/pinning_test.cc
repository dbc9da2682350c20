// Which host CPUs virtual CPUs are pinned to.
#include "tracker/cells/pinning.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tracker/cells/cells_world.h"

namespace berth::tracker {
namespace {

constexpr auto kPrefer = CpuThreadPolicy::kPrefer;
constexpr auto kIsolate = CpuThreadPolicy::kIsolate;
constexpr auto kRequire = CpuThreadPolicy::kRequire;

// Prints `vcpu:cpu vcpu:cpu`, then ` +` and the reserved CPU if there is one.
std::string PinText(const HostCell& host, const GuestCell& guest, bool reserve = false) {
  const std::optional<Pinning> pinning = Pin(host, guest, reserve);
  if (!pinning) return "none";
  std::string text;
  for (const auto& [vcpu, cpu] : pinning->cpu_by_vcpu) {
    absl::StrAppend(&text, text.empty() ? "" : " ", vcpu, ":", cpu);
  }
  if (!pinning->reserved.empty()) absl::StrAppend(&text, " +", pinning->reserved.ToString());
  return text;
}

HostCell Singles(int cpus, CpuSet pinned = {}) {
  return WithPinned(CellOfCores(0, 0, cpus, 1), std::move(pinned));
}
HostCell Pairs(int cores, CpuSet pinned = {}) {
  return WithPinned(CellOfCores(0, 0, cores, 2), std::move(pinned));
}

TEST(Pinning, PacksCores) {
  const HostCell fours = WithPinned(CellOfCores(0, 0, 2, 4), {1, 2, 5, 6});
  EXPECT_EQ(PinText(Singles(4, {1}), PinnedCell(3)), "0:0 1:2 2:3");             // C-9
  EXPECT_EQ(PinText(fours, PinnedCell(4)), "0:0 1:3 2:4 3:7");                   // C-9
  EXPECT_EQ(PinText(Pairs(4), PinnedCell(5)), "0:0 1:1 2:2 3:3 4:4");            // C-9
  EXPECT_EQ(PinText(Pairs(4, {0, 2, 5, 6}), PinnedCell(4)), "0:1 1:3 2:4 3:7");  // C-9
  EXPECT_EQ(PinText(Pairs(4, {0, 1, 2, 5}), PinnedCell(4)), "0:3 1:4 2:6 3:7");  // C-9
}

TEST(Pinning, UsesAsManyThreadsOfACoreAsPossible) {
  EXPECT_EQ(PinText(Pairs(4, {0}), PinnedCell(2)), "0:2 1:3");         // T-279
  EXPECT_EQ(PinText(Pairs(2, {0}), PinnedCell(3)), "0:1 1:2 2:3");     // T-279: the last resort
  EXPECT_EQ(PinText(Pairs(3, {0, 2}), PinnedCell(3)), "0:1 1:3 2:4");  // T-279
  EXPECT_EQ(PinText(Pairs(2, {0}), PinnedCell(4)), "none");
  EXPECT_EQ(PinText(Pairs(2), PinnedCell(0)), "none");
  HostCell apart = Pairs(2);  // CPUs of a core need not follow each other
  apart.offer.siblings = {{0, 2}, {1, 3}};
  EXPECT_EQ(PinText(apart, PinnedCell(3)), "0:0 1:2 2:1");  // T-279
  apart.usage.pinned_cpus = {0};
  EXPECT_EQ(PinText(apart, PinnedCell(3)), "0:2 1:1 2:3");  // T-279: in the order of the cores
  GuestCell guest = PinnedCell(0);
  guest.pinned_cpus = {3, 7};
  EXPECT_EQ(PinText(Pairs(2), guest), "3:0 7:1");
}

TEST(Pinning, RequiresThreads) {
  EXPECT_EQ(PinText(Singles(8), PinnedCell(2, kRequire)), "none");           // T-280
  EXPECT_EQ(PinText(Pairs(2), PinnedCell(3, kRequire)), "0:0 1:1 2:2");      // T-279
  EXPECT_EQ(PinText(Pairs(3, {0, 2}), PinnedCell(3, kRequire)), "none");     // T-279
  EXPECT_EQ(PinText(Pairs(3, {0, 2}), PinnedCell(2, kRequire)), "0:4 1:5");  // T-279
}

TEST(Pinning, IsolatesOnWholeCores) {
  EXPECT_EQ(PinText(Pairs(4, {2}), PinnedCell(3, kIsolate)), "0:0 1:4 2:6");  // T-280
  EXPECT_EQ(PinText(Pairs(4, {2}), PinnedCell(4, kIsolate)), "none");         // T-280
  EXPECT_EQ(PinText(Singles(3), PinnedCell(3, kIsolate)), "0:0 1:1 2:2");
  HostCell uneven = Pairs(2);
  uneven.offer.siblings.push_back({4});
  uneven.offer.cpus.Insert(4);
  uneven.offer.dedicated_cpus.Insert(4);
  EXPECT_EQ(PinText(uneven, PinnedCell(3, kIsolate)),
            "none");  // T-280: a smaller core never counts
  HostCell split = Pairs(2);
  split.offer.cpus = {0};
  EXPECT_EQ(PinText(split, PinnedCell(1, kIsolate)), "none");  // T-280: a sibling may be shared
  EXPECT_EQ(PinText(split, PinnedCell(1, kPrefer)), "0:0");
  HostCell singles = Singles(3);
  singles.offer.cpus = {0};
  EXPECT_EQ(PinText(singles, PinnedCell(1, kIsolate)), "0:0");
}

TEST(Pinning, ReservesACpuForEmulatorThreads) {
  EXPECT_EQ(PinText(Singles(2), PinnedCell(1), true), "0:0 +1");         // C-9, T-281
  EXPECT_EQ(PinText(Singles(2), PinnedCell(2), true), "none");           // T-281
  EXPECT_EQ(PinText(Pairs(2, {0}), PinnedCell(2), true), "0:2 1:3 +1");  // T-281
  EXPECT_EQ(PinText(Pairs(3), PinnedCell(2, kRequire), true), "0:0 1:1 +2");
  EXPECT_EQ(PinText(Pairs(2), PinnedCell(1, kIsolate), true), "0:0 +2");  // T-281
  EXPECT_EQ(PinText(Pairs(2), PinnedCell(2, kIsolate), true), "none");    // T-281
  EXPECT_EQ(PinText(Pairs(3, {2}), PinnedCell(2, kIsolate), true), "0:0 1:4 +3");
}

}  // namespace
}  // namespace berth::tracker
