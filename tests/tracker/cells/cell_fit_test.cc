// Whether one guest cell fits on one host cell.
#include "tracker/cells/cell_fit.h"

#include "gtest/gtest.h"
#include "tests/tracker/cells/cells_world.h"

namespace berth::tracker {
namespace {

constexpr CellLimits kTwice = {2.0, 2.0};

bool Fits(const HostCell& host, const GuestCell& guest,
          const std::optional<CellLimits>& limits = std::nullopt, bool reserve = false) {
  return FitCell(host, guest, reserve, limits).has_value();
}

// The chosen page size, or 0 if the cell does not fit.
int64_t ChosenPages(const HostCell& host, const GuestCell& guest) {
  const std::optional<GuestCell> placed = FitCell(host, guest, false, std::nullopt);
  return placed ? placed->page_size_kib : 0;
}

HostCell WithUsage(int64_t memory_mib, int64_t shared_cpus = 0) {
  HostCell host = CellOfCores(3, 0, 4, 1);
  host.usage.memory_mib = memory_mib;
  host.usage.shared_cpus = shared_cpus;
  return host;
}

TEST(CellFit, SharedGuestsMayUseMemoryTwice) {
  EXPECT_TRUE(Fits(WithUsage(1000), SharedCell(1, 1024)));   // T-277
  EXPECT_FALSE(Fits(WithUsage(0), SharedCell(1, 1025)));     // T-277
  EXPECT_TRUE(Fits(WithUsage(1000, 4), SharedCell(4, 24)));  // T-277: without limits
}

TEST(CellFit, PinnedGuestsNeedFreeMemory) {
  EXPECT_TRUE(Fits(WithUsage(960), PinnedCell(1, {}, 64)));   // T-277
  EXPECT_FALSE(Fits(WithUsage(961), PinnedCell(1, {}, 64)));  // T-277
  GuestCell paged = PinnedCell(1, {}, 64);
  paged.page_size_kib = 4;
  EXPECT_TRUE(Fits(WithUsage(960), paged));
  EXPECT_FALSE(Fits(WithUsage(961), paged));  // T-277: with a page size too
}

TEST(CellFit, SmallestPagesAreCheckedWithoutAPageSize) {
  HostCell host = CellOfCores(0, 0, 4, 1);
  host.offer.pages = {{4, 32 * 256, 0, 1}, {2048, 4096, 0, 0}};
  EXPECT_TRUE(Fits(host, SharedCell(1, 32)));   // T-277
  EXPECT_FALSE(Fits(host, SharedCell(1, 33)));  // T-277
  EXPECT_EQ(ChosenPages(host, SharedCell(1, 32)), kNoPageSize);
  host.usage.pages_by_size_kib[4] = 256;
  EXPECT_TRUE(Fits(host, SharedCell(1, 32)));       // T-277: used pages count for pinned guests
  EXPECT_FALSE(Fits(host, PinnedCell(1, {}, 31)));  // T-277: 30 MiB and 1023 KiB are free
  EXPECT_TRUE(Fits(host, PinnedCell(1, {}, 30)));   // T-277
  host.offer.pages = {};
  EXPECT_TRUE(Fits(host, PinnedCell(1, {}, 31)));
}

TEST(CellFit, CountsCpus) {
  const HostCell host = CellOfCores(0, 0, 4, 1);
  EXPECT_TRUE(Fits(host, SharedCell(4)));
  EXPECT_FALSE(Fits(host, SharedCell(5)));  // T-277
  EXPECT_TRUE(Fits(host, PinnedCell(4)));
  EXPECT_FALSE(Fits(host, PinnedCell(5)));                           // T-277
  EXPECT_FALSE(Fits(WithPinned(host, {0}), PinnedCell(4)));          // T-277
  EXPECT_TRUE(Fits(host, PinnedCell(3), {}, true));                  // T-277
  EXPECT_FALSE(Fits(host, PinnedCell(4), {}, true));                 // T-277
  EXPECT_TRUE(Fits(WithPinned(host, {0, 1, 2, 3}), SharedCell(4)));  // T-277: legacy mode
  HostCell split = host;
  split.offer.cpus = {0, 1};
  split.offer.dedicated_cpus = {2, 3};
  EXPECT_FALSE(Fits(split, SharedCell(3)));  // T-277
  EXPECT_FALSE(Fits(split, PinnedCell(3)));  // T-277
  GuestCell mixed = PinnedCell(2);
  mixed.cpu_policy = CpuPolicy::kMixed;
  mixed.shared_cpus = {2, 3};
  EXPECT_TRUE(Fits(split, mixed));
  mixed.shared_cpus = {2, 3, 4};
  EXPECT_FALSE(Fits(split, mixed));  // T-277
  mixed.shared_cpus = {2};
  mixed.pinned_cpus = {};
  EXPECT_FALSE(Fits(split, mixed));  // T-277: a mixed cell without pinned vCPU
}

TEST(CellFit, LimitsHoldForVcpusThatShare) {
  EXPECT_TRUE(Fits(WithUsage(0, 5), SharedCell(3), kTwice));
  EXPECT_FALSE(Fits(WithUsage(0, 6), SharedCell(3), kTwice));  // T-277
  EXPECT_TRUE(Fits(WithUsage(1984), SharedCell(1), kTwice));
  EXPECT_FALSE(Fits(WithUsage(1985), SharedCell(1), kTwice));                // T-277
  EXPECT_FALSE(Fits(WithUsage(0), SharedCell(1, 64), CellLimits{1, 0.01}));  // T-277
  EXPECT_TRUE(Fits(WithUsage(0, 9), PinnedCell(1), kTwice));                 // T-277: dedicated
  GuestCell mixed = PinnedCell(1);
  mixed.cpu_policy = CpuPolicy::kMixed;
  mixed.shared_cpus = {1};
  EXPECT_TRUE(Fits(WithUsage(0, 7), mixed, kTwice));
  EXPECT_FALSE(Fits(WithUsage(0, 8), mixed, kTwice));  // T-277
}

TEST(CellFit, ChoosesThePageSize) {
  HostCell host = CellOfCores(0, 0, 4, 1, 8192);
  host.offer.pages = {{4, 2097152, 0, 0}, {2048, 4096, 0, 0}, {1048576, 8, 0, 0}};
  EXPECT_EQ(ChosenPages(host, SharedCell(1, 3072, kSmallPages)), 4);        // C-11, T-278
  EXPECT_EQ(ChosenPages(host, SharedCell(1, 3072, kLargePages)), 1048576);  // C-11, T-278
  EXPECT_EQ(ChosenPages(host, SharedCell(1, 3072, kAnyPages)), 1048576);    // C-11, T-278
  EXPECT_EQ(ChosenPages(host, SharedCell(1, 2050, kLargePages)), 2048);     // C-11, T-278
  EXPECT_EQ(ChosenPages(host, SharedCell(1, 3072, 16384)), 0);              // C-11, T-277
  EXPECT_EQ(ChosenPages(host, SharedCell(1, 3072, 2048)), 2048);            // T-278
  EXPECT_EQ(ChosenPages(host, SharedCell(1, 2049, 2048)), 0);               // T-278
  EXPECT_EQ(ChosenPages(host, SharedCell(1, 2049, kLargePages)), 0);        // T-278
  EXPECT_EQ(ChosenPages(host, SharedCell(1, 2049, kAnyPages)), 4);          // T-278
  host.usage.pages_by_size_kib[1048576] = 5;
  EXPECT_EQ(ChosenPages(host, SharedCell(1, 3072, kAnyPages)), 1048576);  // T-278
  host.offer.pages[2].reserved = 1;
  EXPECT_EQ(ChosenPages(host, SharedCell(1, 3072, kAnyPages)), 2048);  // T-278
  host.offer.pages = {{4, 2097152, 0, 0}};
  EXPECT_EQ(ChosenPages(host, SharedCell(1, 3072, kLargePages)), 0);  // T-278
  host.offer.pages = {};
  EXPECT_EQ(ChosenPages(host, SharedCell(1, 3072, kSmallPages)), 0);
}

TEST(CellFit, FillsInThePlace) {
  GuestCell guest = PinnedCell(2);
  guest.pinning = {{0, 99}};
  guest.reserved_cpus = {98};
  guest.host_cell = 77;
  const std::optional<GuestCell> placed =
      FitCell(CellOfCores(3, 8, 2, 2), guest, false, std::nullopt);
  ASSERT_TRUE(placed.has_value());
  EXPECT_EQ(placed->host_cell, 3);  // T-270
  EXPECT_EQ(placed->pinning, (std::map<int, int>{{0, 8}, {1, 9}}));
  EXPECT_TRUE(placed->reserved_cpus.empty());
}

}  // namespace
}  // namespace berth::tracker
