// The fit finds what trying every permutation finds, on random hosts and guests.
#include <random>

#include "gtest/gtest.h"
#include "tests/tracker/cells/naive_fit.h"
#include "tests/tracker/facts/test_data.h"
#include "tests/worlds/seed.h"
#include "tracker/cells/fit.h"

namespace berth::tracker {
namespace {

constexpr int kFitCases = kSanitized ? 5000 : 100000;

class RandomFit {
 public:
  explicit RandomFit(uint64_t seed) : random_(seed) {}

  std::vector<HostCell> Host() {
    std::vector<HostCell> host(static_cast<size_t>(Number(1, 5)));
    const bool legacy = Chance(0.5);
    const int threads = Chance(0.2) ? Number(3, 4) : Number(1, 2);
    int cpu = 0;
    for (HostCell& cell : host) {
      cell.offer.id = static_cast<int>(&cell - host.data()) * (ids_apart_ ? 3 : 1);
      for (int core = Number(1, 5); core > 0; --core) AddCore(legacy, threads, &cpu, &cell);
      if (legacy) cell.offer.dedicated_cpus = cell.offer.cpus;
      AddMemory(&cell);
      for (const char* const physnet : {"a", "b"}) {
        if (Chance(0.3)) cell.offer.networks.physnets.insert(physnet);
      }
      cell.offer.networks.tunneled = Chance(0.3);
    }
    return host;
  }

  GuestTopology Guest() {
    GuestTopology guest;
    if (Chance(0.3)) guest.emulator_threads_policy = EmulatorThreadsPolicy::kIsolate;
    const int kind = Number(0, 3);
    const int64_t sizes[] = {0, 0, 4, 64, 2048, kSmallPages, kLargePages, kAnyPages};
    const int64_t size = sizes[Number(0, 7)];
    const int policy = Number(0, 3);
    for (int cells = Number(1, 4); cells > 0; --cells) {
      GuestCell cell;
      cell.memory_mib = Number(1, 12) * (Chance(0.8) ? 2 : 1);
      cell.page_size_kib = size;
      const int vcpus = Number(1, 4);
      for (int vcpu = 0; vcpu < vcpus; ++vcpu) {
        const bool pinned = kind == 1 || (kind == 2 && Chance(0.6));
        (pinned ? cell.pinned_cpus : cell.shared_cpus).Insert(vcpu * 2);
      }
      if (kind == 1) cell.cpu_policy = CpuPolicy::kDedicated;
      if (kind == 2) cell.cpu_policy = CpuPolicy::kMixed;
      if (kind == 3) cell.cpu_policy = CpuPolicy::kShared;
      if (policy < 3) cell.cpu_thread_policy = static_cast<CpuThreadPolicy>(policy);
      guest.cells.push_back(cell);
    }
    return guest;
  }

  FitOptions Options(const std::vector<HostCell>& host) {
    FitOptions options;
    options.pack = Chance(0.5);
    if (Chance(0.5)) options.limits = {Number(1, 4) / 2.0, Number(1, 4) / 2.0};
    if (Chance(0.4)) {
      options.networks.emplace();
      if (Chance(0.5)) options.networks->physnets.insert("a");
      if (Chance(0.5)) options.networks->physnets.insert("b");
      options.networks->tunneled = Chance(0.5);
    }
    if (Chance(0.4)) options.devices = SomeDevices(host);
    return options;
  }

 private:
  int Number(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }
  bool Chance(double probability) { return std::bernoulli_distribution(probability)(random_); }

  void AddCore(bool legacy, int threads, int* cpu, HostCell* cell) {
    CpuSet core;
    const bool dedicated = Chance(0.7);
    for (int thread = 0; thread < threads; ++thread, ++*cpu) {
      if (Chance(0.05)) continue;
      core.Insert(*cpu);
      (dedicated && !legacy ? cell->offer.dedicated_cpus : cell->offer.cpus).Insert(*cpu);
      if (Chance(0.25)) cell->usage.pinned_cpus.Insert(*cpu);
    }
    if (!core.empty()) cell->offer.siblings.push_back(core);
  }

  void AddMemory(HostCell* cell) {
    cell->offer.memory_mib = Number(8, 40);
    cell->usage.memory_mib = Chance(0.5) ? 0 : Number(0, 30);
    cell->usage.shared_cpus = Chance(0.5) ? 0 : Number(0, 6);
    for (const int size : {4, 64, 2048}) {
      if (Chance(0.2)) continue;
      cell->offer.pages.push_back({size, Number(0, 32) * 1024 / size, 0, Number(0, 2)});
      if (Chance(0.5)) cell->usage.pages_by_size_kib[size] = Number(0, 8) * 1024 / size;
    }
  }

  // Devices that certain sets of cells satisfy, whatever the sets are.
  CellDevices SomeDevices(const std::vector<HostCell>& host) {
    CellDevices devices;
    for (const HostCell& cell : host) {
      if (Chance(0.6)) devices.free_by_cell[cell.offer.id] = Number(0, 3);
    }
    devices.requested = Chance(0.7);
    devices.satisfiable = [salt = Number(0, 1 << 20)](absl::Span<const int> cells) {
      int hash = 1;
      for (const int cell : cells) hash += 1 << cell;
      return hash * 2654435761u * static_cast<unsigned>(salt) >> 31 == 0;
    };
    return devices;
  }

  std::mt19937_64 random_;
  bool ids_apart_ = std::bernoulli_distribution(0.5)(random_);
};

TEST(Fit, EqualsTheFirstPermutation) {  // T-275
  const uint64_t seed = TestSeed();
  int placed = 0;
  int several = 0;
  for (int i = 0; i < kFitCases; ++i) {
    RandomFit random(seed + static_cast<uint64_t>(i));
    const std::vector<HostCell> host = random.Host();
    const GuestTopology guest = random.Guest();
    const FitOptions options = random.Options(host);
    const auto fit = PlaceGuest(host, guest, options);
    ASSERT_EQ(fit, NaiveFit(host, guest, options)) << "BERTH_SEED=" << seed << " case " << i;
    placed += fit.has_value();
    several += fit.has_value() && guest.cells.size() > 1;
  }
  EXPECT_GT(placed, kFitCases / 20);
  EXPECT_GT(several, kFitCases / 100);
}

}  // namespace
}  // namespace berth::tracker
