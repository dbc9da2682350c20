// Wide trees: many equal groups over many equal providers. Candidates are found one by one, and a
// request that cannot be met is refused without trying all combinations (P-216, P-219).
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/search/search.h"
#include "tests/worlds/request_notation.h"
#include "tests/worlds/seed.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

constexpr int64_t kStepsMax = 5'000'000;  // the default budget: no case may need more

// `hosts` hosts with `children` children of `units` CUSTOM_VF each.
World Wide(int hosts, int children, int units) {
  std::string notation;
  for (int h = 0; h < hosts; ++h) {
    absl::StrAppend(&notation, "h", h, "{VCPU:8, MEMORY_MB:4096, DISK_GB:500}\n");
    for (int c = 0; c < children; ++c) {
      absl::StrAppend(&notation, "  h", h, "_vf", c, "{CUSTOM_VF:", units, "}\n");
    }
  }
  return World(notation);
}

std::string Groups(int count, const std::string& resources = "CUSTOM_VF:1") {
  std::string text;
  for (int g = 0; g < count; ++g) absl::StrAppend(&text, "; r._", 10 + g, " ", resources);
  return text;
}

const char* const kHost = "r DISK_GB:20,MEMORY_MB:2048,VCPU:2";

struct WideCase {
  int hosts, children, units, groups;
  const char* policy;
  int64_t limit;     // 0: none
  int64_t expected;  // candidates
};

TEST(SearchWide, Counts) {
  const WideCase cases[] = {
      {2, 8, 8, 2, "none", 0, 128},     {2, 8, 8, 4, "none", 0, 8192},
      {1, 8, 1, 8, "none", 1000, 1000}, {2, 21, 1, 21, "none", 1000, 1000},
      {2, 48, 1, 48, "none", 100, 100}, {2, 64, 1, 64, "none", 10, 10},
      {2, 8, 8, 6, "none", 1000, 1000},                                 // of 524288
      {1, 8, 1, 9, "none", 0, 0},       {1, 20, 1, 21, "none", 0, 0},   // P-219
      {1, 6, 100, 7, "iso", 0, 0},      {1, 20, 100, 21, "iso", 0, 0},  // P-219
      {1, 3, 2, 7, "none", 0, 0},       {1, 5, 2, 3, "iso", 0, 60},
  };
  for (const WideCase& each : cases) {
    World world = Wide(each.hosts, each.children, each.units);
    std::string text = absl::StrCat(kHost, Groups(each.groups), "; ", each.policy);
    if (each.limit > 0) absl::StrAppend(&text, " limit ", each.limit);
    SearchBudget budget;
    budget.steps_max = kStepsMax;
    const auto found = FindCandidates(world.state(), ParseRequest(world, text), budget);
    ASSERT_TRUE(found.ok()) << found.status();  // P-216, D-11
    EXPECT_EQ(static_cast<int64_t>(found->candidates.size()), each.expected)
        << each.children << " children, " << each.groups << " groups, " << each.policy;
    EXPECT_FALSE(found->truncated);
  }
}

// Of very many combinations, only as many as the limit are made.
TEST(SearchWide, CombinationsAreMadeOneByOne) {
  std::string notation = "host(A)\n";
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&notation, "  c", i, "{VCPU:8, MEMORY_MB:8, CUSTOM_VF:8}\n");
  }
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&notation, "p", i, "[MISC_SHARES_VIA_AGGREGATE]{DISK_GB:8}(A)\n");
  }
  World world(notation);
  SearchBudget budget;
  budget.steps_max = 2000;
  const auto ask = [&](const std::string& text) {
    const auto found = FindCandidates(world.state(), ParseRequest(world, text), budget);
    EXPECT_TRUE(found.ok()) << text << ": " << found.status();
    return found.ok() ? found->candidates.size() : 0;
  };
  EXPECT_EQ(ask("r VCPU:1,MEMORY_MB:1,DISK_GB:1 limit 10"), 10u);   // P-217: of 8000
  EXPECT_EQ(ask(absl::StrCat(Groups(8), "; none limit 10")), 10u);  // P-218: of 20^8
  EXPECT_EQ(ask(absl::StrCat(Groups(8), "; iso limit 10")), 10u);   // P-218
}

// What a search keeps of each provider's free amounts are the inventories that the provider has. A
// number for each class of the request would be 30 MB here, and there is room for half of that.
TEST(SearchWide, MemoryIsThatOfTheInventories) {
  if (kSanitized) return;        // a sanitizer's memory is not the search's
  constexpr int kClasses = 250;  // of each of five groups
  std::string notation = "host{VCPU:1}\n";
  std::string groups;
  for (int g = 0; g < 5; ++g) {
    std::string resources;
    std::string inventories;
    for (int c = 0; c < kClasses; ++c) {
      absl::StrAppend(&resources, c > 0 ? "," : "", "CUSTOM_", g, "_", c, ":1");
      absl::StrAppend(&inventories, c > 0 ? ", " : "", "CUSTOM_", g, "_", c, ":8");
    }
    absl::StrAppend(&notation, "  big", g, "{", inventories, "}\n");
    absl::StrAppend(&groups, "; r._", g, " ", resources);
  }
  for (int c = 0; c < 3'000; ++c) absl::StrAppend(&notation, "  c", c, "\n");
  World world(notation);
  const CandidateRequest request = ParseRequest(world, absl::StrCat(groups.substr(2), "; iso"));
  // Ends the process with what `work` returns, which may take 14 MB more than the process has.
  const auto run = [](const std::function<int()>& work) {
    malloc_trim(0);
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    const rlim_t bytes = pages * static_cast<rlim_t>(getpagesize()) + (14u << 20);
    const rlimit limit = {bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    _exit(work());
  };
  const auto search = [&] {
    const auto found = FindCandidates(world.state(), request, SearchBudget());
    return found.ok() && found->candidates.size() == 1 ? 0 : 1;
  };
  const auto fill = [] {
    const std::unique_ptr<volatile Amount[]> numbers(new (std::nothrow) Amount[3'005 * 1'250]);
    if (numbers == nullptr) return 3;
    numbers[0] = 1;  // so that no compiler leaves them out
    return 0;
  };
  EXPECT_EXIT(run(search), ::testing::ExitedWithCode(0), "");
  // There is no room for a number for each class.
  EXPECT_EXIT(run(fill), ::testing::ExitedWithCode(3), "");
}

// With separate subtrees, a group on a parent excludes all providers below it: so no more groups
// fit than there are leaves.
TEST(SearchWide, SeparateSubtreesAreCountedByLeaves) {
  std::string notation = "host{CUSTOM_VF:8}\n";
  for (int c = 0; c < 8; ++c) {
    absl::StrAppend(&notation, "  n", c, "{CUSTOM_VF:8}\n    l", c, "{CUSTOM_VF:8}\n");
  }
  World world(notation);
  const auto ask = [&world](int groups) {
    std::string set;
    for (int g = 0; g < groups; ++g) absl::StrAppend(&set, g > 0 ? "," : "", "_", 10 + g);
    const std::string text = absl::StrCat(Groups(groups), "; none limit 10 sep ", set);
    SearchBudget budget;
    budget.steps_max = 100'000;
    const auto found = FindCandidates(world.state(), ParseRequest(world, text), budget);
    EXPECT_TRUE(found.ok()) << found.status();  // P-216
    return found.ok() ? found->candidates.size() : 0;
  };
  EXPECT_EQ(ask(8), 10u);
  EXPECT_EQ(ask(9), 0u);
}

// Equal groups that swap providers give equal allocations: most of these solutions are never
// visited.
TEST(SearchWide, EquivalentCandidatesAreCollapsed) {
  World world = Wide(1, 8, 8);
  CandidateRequest request = ParseRequest(world, absl::StrCat(kHost, Groups(6), "; none"));
  request.collapse_equivalent = true;
  SearchBudget budget;
  budget.steps_max = 100'000;
  const auto found = FindCandidates(world.state(), request, budget);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->candidates.size(), 1716u);  // P-201: 6 of 8 with repeats, of 262144 in order
  EXPECT_FALSE(found->truncated);
}

TEST(SearchWide, EveryHostAppearsUnderACap) {
  World world = Wide(4, 8, 8);
  const CandidateRequest request = ParseRequest(world, absl::StrCat(kHost, Groups(4), "; none"));
  SearchBudget budget;
  budget.candidates_max = 10;
  const auto found = FindCandidates(world.state(), request, budget);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->truncated);  // P-213
  std::set<ProviderId> roots;
  for (const Candidate& candidate : found->candidates) roots.insert(candidate.root);
  EXPECT_EQ(roots.size(), 4u);  // P-214
}

// Groups of different amounts: the search prunes by the smallest amount, which is not exact, so
// that it ends with its budget.
TEST(SearchWide, BudgetEndsWhatCannotBeProven) {
  World world = Wide(1, 12, 7);
  const CandidateRequest request =
      ParseRequest(world, absl::StrCat("r._1 CUSTOM_VF:1; none", Groups(20, "CUSTOM_VF:4")));
  SearchBudget budget;
  budget.steps_max = 100'000;
  const auto found = FindCandidates(world.state(), request, budget);
  EXPECT_TRUE(found.ok() ? found->candidates.empty()
                         : found.status().code() == absl::StatusCode::kDeadlineExceeded);  // P-215
}

}  // namespace
}  // namespace berth::placement
