// How the cells of a guest are placed on the cells of a host.
#include "tracker/cells/fit.h"

#include <algorithm>
#include <ctime>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tracker/cells/cells_world.h"
#include "tests/worlds/seed.h"

namespace berth::tracker {
namespace {

// Prints the host cells of the guest's cells, or `none`.
std::string Places(const std::vector<HostCell>& host, const GuestTopology& guest,
                   const FitOptions& options = {}) {
  const std::optional<GuestTopology> placed = PlaceGuest(host, guest, options);
  if (!placed) return "none";
  std::string text;
  for (const GuestCell& cell : placed->cells) {
    absl::StrAppend(&text, text.empty() ? "" : " ", cell.host_cell.value_or(-1));
  }
  return text;
}

std::vector<int> Order(const std::vector<HostCell>& host, const GuestTopology& guest,
                       const FitOptions& options = {}) {
  return CellOrder(host, guest, options);
}

// Cells of 4 CPUs and 1024 MiB.
std::vector<HostCell> HostOfCells(int cells) {
  std::vector<HostCell> host;
  for (int i = 0; i < cells; ++i) host.push_back(CellOfCores(i, i * 4, 4, 1));
  return host;
}

GuestTopology SharedGuest(int cells, int64_t memory_mib = 64) {
  return {std::nullopt,
          std::vector<GuestCell>(static_cast<size_t>(cells), SharedCell(1, memory_mib))};
}
GuestTopology PinnedGuest(int cells, int vcpus = 1) {
  return {std::nullopt, std::vector<GuestCell>(static_cast<size_t>(cells), PinnedCell(vcpus))};
}

FitOptions WithDevices(std::map<int, int64_t> free, bool requested,
                       std::function<bool(absl::Span<const int>)> satisfiable = nullptr) {
  FitOptions options;
  options.devices = CellDevices{std::move(free), requested, std::move(satisfiable)};
  return options;
}

TEST(Fit, NeedsAsManyCells) {
  EXPECT_EQ(Places(HostOfCells(1), SharedGuest(2)), "none");  // T-273
  EXPECT_EQ(Places(HostOfCells(2), SharedGuest(2)), "0 1");
  EXPECT_EQ(Places({}, SharedGuest(1)), "none");
}

TEST(Fit, TriesCellsWithMostFreeFirst) {
  std::vector<HostCell> host = HostOfCells(4);
  host[0].usage = {1, 100, {0}, {}};
  host[1].usage = {1, 0, {4, 5}, {}};
  host[2].usage = {0, 300, {8}, {}};
  host[3].usage = {0, 300, {12, 13}, {}};
  FitOptions pack;
  pack.pack = true;
  EXPECT_EQ(Order(host, SharedGuest(1)), (std::vector<int>{2, 3, 1, 0}));        // T-273
  EXPECT_EQ(Order(host, SharedGuest(1), pack), (std::vector<int>{0, 1, 2, 3}));  // T-273
  EXPECT_EQ(Order(host, PinnedGuest(1)), (std::vector<int>{0, 2, 1, 3}));        // T-273
  EXPECT_EQ(Order(host, PinnedGuest(1), pack), (std::vector<int>{3, 1, 2, 0}));  // T-273
  EXPECT_EQ(Order(host, SharedGuest(4)), (std::vector<int>{0, 1, 2, 3}));  // T-273: as many cells
  EXPECT_EQ(Places(host, SharedGuest(2)), "2 3");
}

TEST(Fit, TriesCellsByDevices) {
  const std::vector<HostCell> host = HostOfCells(3);
  EXPECT_EQ(Order(host, SharedGuest(1), WithDevices({{1, 2}, {2, 3}}, true)),
            (std::vector<int>{2, 1, 0}));  // T-273
  EXPECT_EQ(Order(host, SharedGuest(1), WithDevices({{0, 2}, {1, 1}}, false)),
            (std::vector<int>{2, 1, 0}));  // T-273
  FitOptions pack = WithDevices({{1, 2}}, true);
  pack.pack = true;
  EXPECT_EQ(Order(host, SharedGuest(1), pack), (std::vector<int>{1, 0, 2}));  // T-273
}

TEST(Fit, TakesTheFirstAssignmentThatFits) {
  std::vector<HostCell> host = HostOfCells(3);
  host[0].offer.memory_mib = 32;
  EXPECT_EQ(Places(host, SharedGuest(2)), "1 2");  // T-274
  GuestTopology guest = SharedGuest(2, 1000);
  guest.cells[1].memory_mib = 20;
  host[1].offer.memory_mib = 100;
  EXPECT_EQ(Places(host, guest), "2 1");  // T-274
  const std::optional<GuestTopology> placed = PlaceGuest(host, PinnedGuest(2), FitOptions());
  ASSERT_TRUE(placed.has_value());
  EXPECT_EQ(placed->cells[0].pinning.size(), 1u);  // T-274
}

TEST(Fit, AsksForDevicesOnTheChosenCells) {
  const std::vector<HostCell> host = HostOfCells(3);
  const auto has_two = [](absl::Span<const int> cells) {
    return std::count(cells.begin(), cells.end(), 2) > 0;
  };
  EXPECT_EQ(Places(host, SharedGuest(2), WithDevices({}, true, has_two)), "0 2");  // T-274
  EXPECT_EQ(Places(host, SharedGuest(1), WithDevices({}, true, has_two)), "2");    // T-274
  EXPECT_EQ(Places(host, SharedGuest(2), WithDevices({}, false, nullptr)), "0 1");
  const auto never = [](absl::Span<const int>) { return false; };
  EXPECT_EQ(Places(host, SharedGuest(2), WithDevices({}, true, never)), "none");  // T-274
}

TEST(Fit, PutsOneCellNearEachNetwork) {
  std::vector<HostCell> host = HostOfCells(4);
  host[2].offer.networks.physnets = {"a", "b"};
  host[3].offer.networks = {{"b"}, true};
  FitOptions options;
  EXPECT_EQ(Places(host, SharedGuest(1), options), "0");
  options.networks = CellNetworks{{"a"}, false};
  EXPECT_EQ(Places(host, SharedGuest(1), options), "2");    // T-274
  EXPECT_EQ(Places(host, SharedGuest(2), options), "0 2");  // T-274
  options.networks = CellNetworks{{"a"}, true};
  EXPECT_EQ(Places(host, SharedGuest(1), options), "none");  // T-274
  EXPECT_EQ(Places(host, SharedGuest(2), options), "2 3");   // T-274
  options.networks = CellNetworks{{"b"}, true};
  EXPECT_EQ(Places(host, SharedGuest(1), options), "3");
  options.networks = CellNetworks{{"elsewhere"}, false};
  EXPECT_EQ(Places(host, SharedGuest(1), options), "0");  // T-274: no cell is near this network
}

TEST(Fit, ReservesACpuForTheFirstCellOnly) {
  GuestTopology guest = PinnedGuest(2, 3);
  guest.emulator_threads_policy = EmulatorThreadsPolicy::kIsolate;
  std::optional<GuestTopology> placed = PlaceGuest(HostOfCells(2), guest, FitOptions());
  ASSERT_TRUE(placed.has_value());
  EXPECT_EQ(placed->cells[0].reserved_cpus, CpuSet({3}));  // T-276
  EXPECT_EQ(placed->cells[1].reserved_cpus, CpuSet());     // T-276
  guest.emulator_threads_policy = EmulatorThreadsPolicy::kShare;
  placed = PlaceGuest(HostOfCells(2), guest, FitOptions());
  EXPECT_EQ(placed->cells[0].reserved_cpus, CpuSet());  // T-276
}

TEST(Fit, ForgetsAnEarlierPlace) {  // T-275
  const std::vector<HostCell> host = HostOfCells(2);
  const GuestTopology guest = PinnedGuest(2, 2);
  const std::optional<GuestTopology> once = PlaceGuest(host, guest, FitOptions());
  ASSERT_TRUE(once.has_value());
  EXPECT_EQ(PlaceGuest(host, *once, FitOptions()), once);
  EXPECT_EQ(guest.cells[0].host_cell, std::nullopt);
}

// The CPU time that it takes to find that nothing fits. Other programs on the machine do not count.
double MillisecondsWithoutAFit(const std::vector<HostCell>& host, const GuestTopology& guest,
                               const FitOptions& options) {
  const std::clock_t begin = std::clock();
  EXPECT_EQ(PlaceGuest(host, guest, options), std::nullopt);
  return 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// The promise is 50 ms. Three times as long is allowed.
TEST(Fit, EndsSoonWithoutAFit) {
  constexpr double kMillisecondsMax = kSanitized ? 60'000 : 3 * 50;
  GuestTopology guest = SharedGuest(8);
  guest.cells[7].memory_mib = 2000;  // only the last cell fits nowhere
  EXPECT_LT(MillisecondsWithoutAFit(HostOfCells(16), guest, FitOptions()),
            kMillisecondsMax);  // T-275
  // Eight guest cells, of which two fit on the same one host cell only.
  guest.cells[6].memory_mib = 2000;
  std::vector<HostCell> host = HostOfCells(16);
  host[15].offer.memory_mib = 4096;
  host[15].offer.pages[0].total *= 4;
  EXPECT_LT(MillisecondsWithoutAFit(host, guest, FitOptions()), kMillisecondsMax);  // T-275
  // Every assignment has room, and none has the devices.
  int asked = 0;
  const FitOptions options = WithDevices({}, true, [&asked](absl::Span<const int>) {
    ++asked;
    return false;
  });
  EXPECT_LT(MillisecondsWithoutAFit(HostOfCells(16), SharedGuest(8), options),
            kMillisecondsMax);  // T-275
  EXPECT_EQ(asked, 12870);      // each set of 8 out of 16 cells once
}

TEST(Fit, SeesAheadThatALaterCellNeedsThePlace) {
  std::vector<HostCell> host = HostOfCells(40);
  host[0] = CellOfCores(0, 0, 4, 1, 4096);
  GuestTopology guest = SharedGuest(12);
  guest.cells[11].memory_mib = 2000;                            // fits on the first cell only
  EXPECT_EQ(Places(host, guest), "1 2 3 4 5 6 7 8 9 10 11 0");  // T-275
}

TEST(Fit, GivesUpOnHostsWithVeryManyCells) {
  int asked = 0;
  const FitOptions options = WithDevices({}, true, [&asked](absl::Span<const int>) {
    ++asked;
    return false;
  });
  EXPECT_EQ(Places(HostOfCells(40), SharedGuest(12), options), "none");
  EXPECT_LE(asked, kSetsTriedMax);
  EXPECT_EQ(Places(HostOfCells(200), SharedGuest(100)).substr(0, 8), "0 1 2 3 ");
}

}  // namespace
}  // namespace berth::tracker
