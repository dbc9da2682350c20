// 20,000 random lives of a node. After every step the account is what counting all records in the
// plainest way gives, it is the one built anew, and nothing has two owners. BERTH_SEED repeats a
// run; BERTH_ROUNDS sets the number of lives.
#include <cstdlib>
#include <map>
#include <random>

#include "gtest/gtest.h"
#include "tests/tracker/claims/random_life.h"
#include "tests/worlds/seed.h"

namespace berth::tracker {
namespace {

constexpr int kSteps = 24;

std::map<int, NaiveCell> CellsOf(const NodeAccount& account) {
  std::map<int, NaiveCell> cells;
  for (const HostCell& cell : account.owners().cells()) {
    NaiveCell& used = cells[cell.offer.id];
    used.shared_cpus = cell.usage.shared_cpus;
    used.memory_mib = cell.usage.memory_mib;
    for (int cpu : cell.usage.pinned_cpus.Cpus()) used.pinned_cpus.insert(cpu);
    for (const NumaPages& pages : cell.offer.pages) used.pages[pages.size_kib] = 0;
    for (const auto& [size, count] : cell.usage.pages_by_size_kib) used.pages[size] = count;
  }
  return cells;
}

void ExpectAsNaive(const NodeAccount& account, const NaiveAccount& naive) {
  EXPECT_EQ(account.used(), (Amounts{naive.vcpus_used, naive.memory_mib_used,
                                     naive.disk_mib_used}));  // T-374, T-392
  EXPECT_EQ(account.statistics().Counters(), naive.counters);
  EXPECT_EQ(account.statistics().current_workload(), naive.current_workload);
  EXPECT_EQ(CellsOf(account), naive.cells);  // T-392
  EXPECT_EQ(account.owners().by_device(), naive.device_owners);
  EXPECT_EQ(account.owners().by_unit(), naive.unit_owners);
  const std::vector<Uuid> tracked = account.tracked_instances();
  EXPECT_EQ(std::set<Uuid>(tracked.begin(), tracked.end()), naive.tracked_instances);
  EXPECT_EQ(account.tracked_migrations(), naive.tracked_migrations);  // T-374
}

void ExpectOneOwner(const NodeAccount& account, const NaiveAccount& naive) {
  EXPECT_EQ(naive.conflicts, 0);          // T-395
  EXPECT_TRUE(account.faults().empty());  // T-395
  int64_t free = 0;
  for (const DevicePool& pool : account.Devices().Pools()) free += pool.count;
  EXPECT_EQ(free + static_cast<int64_t>(account.owners().by_device().size()),
            static_cast<int64_t>(account.resources().devices.size()));  // T-396
}

TEST(RandomLives, TheAccountFollowsFromTheRecords) {
  const uint64_t first = placement::Seed();
  const char* given = std::getenv("BERTH_ROUNDS");
  const int rounds = given != nullptr ? std::atoi(given) : kSanitized ? 250 : 20000;
  std::map<std::string, int> done;
  for (int round = 0; round < rounds; ++round) {
    RandomLife life(first + static_cast<uint64_t>(round));
    std::string story;
    for (int step = 0; step < kSteps; ++step) {
      const std::string what = life.Step();
      ++done[what];
      story += what + "\n";
      const NaiveAccount naive = life.Naive();
      ExpectAsNaive(life.account(), naive);
      ExpectOneOwner(life.account(), naive);
      EXPECT_TRUE(life.account() == life.account().Rebuilt());  // T-394
      EXPECT_TRUE(life.account() == life.Anew());               // T-394
      ASSERT_FALSE(testing::Test::HasFailure()) << "BERTH_SEED=" << first + round << "\n" << story;
    }
  }
  if (rounds < 2000) return;  // too few to ask how often each step came up
  for (const char* what : {"claim", "bring here: claim of a move", "resize here: claim of a move",
                           "send away", "finish", "confirm or revert", "abort",
                           "abort of a written claim", "restart", "pass", "remove"}) {
    EXPECT_GT(done[what], rounds / 100) << what;  // the test tries what it says
  }
  EXPECT_GT(done["move here: claim of a move"], 0);
}

}  // namespace
}  // namespace berth::tracker
