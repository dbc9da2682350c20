// What placed guests use of host cells.
#include "tracker/cells/usage.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/cells/cells_world.h"

namespace berth::tracker {
namespace {

using ::testing::HasSubstr;

GuestTopology OneCell(GuestCell cell, int host_cell) {
  cell.host_cell = host_cell;
  return {std::nullopt, {std::move(cell)}};
}

GuestCell Pinned(std::map<int, int> pinning, CpuSet reserved = {},
                 std::optional<CpuThreadPolicy> policy = std::nullopt) {
  GuestCell cell = PinnedCell(static_cast<int>(pinning.size()), policy);
  cell.pinning = std::move(pinning);
  cell.reserved_cpus = std::move(reserved);
  return cell;
}

std::vector<HostCell> OneHost(int cores = 4, int threads = 1) {
  return {CellOfCores(0, 0, cores, threads)};
}

// What the first cell uses after the guest was added.
CellUsage UsageWith(const GuestCell& guest, std::vector<HostCell> host) {
  const absl::Status status = AddUsage(OneCell(guest, host[0].offer.id), &host);
  EXPECT_TRUE(status.ok()) << status;
  return host[0].usage;
}

TEST(Usage, CountsCpusAndMemory) {
  GuestCell guest = SharedCell(3, 64);
  EXPECT_EQ(UsageWith(guest, OneHost()), (CellUsage{3, 64, {}, {{4, 16384}}}));  // T-283
  guest.pinned_cpus = {3};
  guest.pinning = {{3, 2}};
  guest.reserved_cpus = {1};
  EXPECT_EQ(UsageWith(guest, OneHost()), (CellUsage{3, 64, {1, 2}, {{4, 16384}}}));  // T-283
}

TEST(Usage, CountsPages) {
  std::vector<HostCell> host = {CellOfCores(0, 0, 4, 1), CellOfCores(1, 4, 4, 1)};
  GuestTopology guest = OneCell(SharedCell(1, 32, 4), 0);
  guest.cells.push_back(SharedCell(1, 64, 4));
  guest.cells[1].host_cell = 0;
  ASSERT_TRUE(AddUsage(guest, &host).ok());
  EXPECT_EQ(host[0].usage.pages_by_size_kib[4], 24576);  // C-10, T-283
  EXPECT_EQ(host[1].usage, CellUsage());
  std::vector<HostCell> large = OneHost();
  large[0].offer.pages = {{2048, 512, 0, 0}, {4, 4096, 0, 0}};
  EXPECT_EQ(UsageWith(SharedCell(1, 4, 2048), large).pages_by_size_kib[2048], 2);  // C-10, T-283
  EXPECT_EQ(UsageWith(SharedCell(1, 4), large).pages_by_size_kib,
            (std::map<int64_t, int64_t>{{4, 1024}}));  // T-283: the smallest without a page size
  EXPECT_TRUE(UsageWith(SharedCell(1, 4, 64), large).pages_by_size_kib.empty());
  large[0].offer.pages = {};
  EXPECT_EQ(UsageWith(SharedCell(1, 4), large), (CellUsage{1, 4, {}, {}}));  // T-283: no pages
}

TEST(Usage, NeverFallsBelowZero) {
  std::vector<HostCell> host = OneHost();
  host[0].usage = {1, 10, {}, {{4, 5}}};
  ASSERT_TRUE(RemoveUsage(OneCell(SharedCell(2, 64), 0), &host).ok());
  EXPECT_EQ(host[0].usage, (CellUsage{0, 0, {}, {{4, 0}}}));  // C-10, T-283
}

TEST(Usage, IgnoresCellsThatAreNotPlacedHere) {
  std::vector<HostCell> host = OneHost();
  GuestTopology guest = OneCell(SharedCell(2), 7);
  EXPECT_TRUE(AddUsage(guest, &host).ok());
  EXPECT_EQ(host[0].usage, CellUsage());  // T-283
  guest.cells[0].host_cell = std::nullopt;
  EXPECT_TRUE(AddUsage(guest, &host).ok());
  EXPECT_EQ(host[0].usage, CellUsage());  // T-283
  EXPECT_TRUE(AddUsage(GuestTopology(), &host).ok());
  EXPECT_EQ(host[0].usage, CellUsage());  // T-285
}

TEST(Usage, BlocksWholeCoresWithIsolate) {
  const GuestCell guest = Pinned({{0, 2}}, {4}, CpuThreadPolicy::kIsolate);
  EXPECT_EQ(UsageWith(guest, OneHost(4, 2)).pinned_cpus, CpuSet({2, 3, 4, 5}));  // T-283
  EXPECT_EQ(UsageWith(Pinned({{0, 2}}, {4}), OneHost(4, 2)).pinned_cpus, CpuSet({2, 4}));
  // T-284: with isolate a CPU in no core is ignored.
  EXPECT_EQ(UsageWith(Pinned({{0, 99}}, {}, CpuThreadPolicy::kIsolate), OneHost(4, 2)).pinned_cpus,
            CpuSet());
}

TEST(Usage, ComesBackByRemoving) {
  std::vector<HostCell> host = OneHost(4, 2);
  host[0].usage = {2, 100, {0, 1}, {{4, 25600}}};
  host[0].offer.networks.physnets = {"a"};
  host[0].offer.socket = 1;
  const HostCell before = host[0];
  const GuestTopology guest = OneCell(Pinned({{0, 2}}, {4}, CpuThreadPolicy::kIsolate), 0);
  ASSERT_TRUE(AddUsage(guest, &host).ok());
  ASSERT_TRUE(RemoveUsage(guest, &host).ok());
  EXPECT_EQ(host[0].usage, before.usage);  // T-283
  EXPECT_EQ(host[0].offer.socket, 1);      // T-283: all else stays
  EXPECT_EQ(host[0].offer.siblings, before.offer.siblings);
  EXPECT_EQ(host[0].offer.networks.physnets, before.offer.networks.physnets);
}

TEST(Usage, RefusesCpusThatCannotBePinned) {
  std::vector<HostCell> host = OneHost();
  host.push_back(CellOfCores(1, 4, 4, 1));
  host[1].usage.pinned_cpus = {4};
  const auto refused = [&](std::map<int, int> pinning, bool remove) {
    // The first cell of the guest can be changed. It must not be, because the second cannot.
    GuestTopology guest = OneCell(SharedCell(1), 0);
    guest.cells.push_back(Pinned(std::move(pinning)));
    guest.cells[1].host_cell = 1;
    std::vector<HostCell> changed = host;
    const absl::Status status = remove ? RemoveUsage(guest, &changed) : AddUsage(guest, &changed);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_EQ(changed[0].usage, host[0].usage);  // T-284
    EXPECT_EQ(changed[1].usage, host[1].usage);  // T-284
    return std::string(status.message());
  };
  const char* const not_offered = "CPUs 0 of host cell 1: a guest is pinned to these CPUs, but";
  EXPECT_THAT(refused({{0, 0}}, false), HasSubstr(not_offered));                  // T-284
  EXPECT_THAT(refused({{0, 4}}, false), HasSubstr("already pinned to another"));  // T-284
  EXPECT_THAT(refused({{0, 4}, {1, 0}}, false), HasSubstr(not_offered));
  EXPECT_THAT(refused({{0, 0}}, true), HasSubstr("not in cpu_dedicated_set"));     // T-284
  EXPECT_THAT(refused({{0, 5}}, true), HasSubstr("no guest was pinned to them"));  // T-284
}

TEST(Usage, RefusesWhatOnlyABrokenRecordHolds) {
  std::vector<HostCell> host = OneHost(4, 2);
  const CellUsage before = host[0].usage;
  EXPECT_FALSE(AddUsage(OneCell(Pinned({{0, -1}}), 0), &host).ok());  // T-284
  EXPECT_FALSE(AddUsage(OneCell(Pinned({{0, 70000}}), 0), &host).ok());
  GuestCell cell = Pinned({{0, 2}});
  cell.memory_mib = -5;
  EXPECT_FALSE(AddUsage(OneCell(cell, 0), &host).ok());
  EXPECT_EQ(host[0].usage, before);
}

TEST(Usage, StartsFromZero) {
  NumaTopology topology;
  topology.cells = {CellOfCores(0, 0, 4, 1).offer, CellOfCores(1, 4, 4, 1).offer};
  topology.cells[1].pages[0].used = 99;
  const std::vector<HostCell> host = UnusedCells(topology);
  ASSERT_EQ(host.size(), 2u);
  EXPECT_EQ(host[1].usage, CellUsage());  // T-286
  EXPECT_EQ(host[1].offer.id, 1);
}

}  // namespace
}  // namespace berth::tracker
