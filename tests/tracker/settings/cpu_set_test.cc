// CPU sets: the text form, the algebra against std::set, and which CPUs guests get.
#include "tracker/settings/cpu_set.h"

#include <malloc.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/tracker/facts/test_data.h"
#include "tracker/settings/cpu_policy.h"

namespace berth::tracker {
namespace {

TEST(CpuSet, ReadsWhatOperatorsWrite) {
  struct Case {
    const char* text;
    const char* want;  // null: refused
  };
  const Case kCases[] = {
      {"0-3,^2", "0-1,3"},                     // C-5
      {"^2,0-3", "0-1,3"},                     // C-5, T-72: exclusions apply last
      {"1,,3", "1,3"},                         // C-5
      {" 1 , 3 ", "1,3"},                      // C-5
      {"0-11,^1-10,13-15,^14", "0,11,13,15"},  // T-72
      {"63-66,200", "63-66,200"},              // T-77
      {"3-1", nullptr},                        // C-5
      {"a", nullptr},                          // C-5
      {"1-", nullptr},                         // C-5
      {"^x", nullptr},                         // C-5
      {"1,^1", nullptr},                       // C-5
      {"", nullptr},
      {"-1", nullptr},     // T-72
      {"1-2-3", nullptr},  // T-72
      {"65536", nullptr},
      {"99999999999999999999", nullptr},
  };
  for (const Case& test : kCases) {
    const absl::StatusOr<CpuSet> set = CpuSet::Parse(test.text);
    if (test.want == nullptr) {
      EXPECT_EQ(set.status().code(), absl::StatusCode::kInvalidArgument) << test.text;
    } else {
      ASSERT_TRUE(set.ok()) << test.text << ": " << set.status();
      EXPECT_EQ(set->ToString(), test.want) << test.text;
    }
  }
  EXPECT_EQ(*CpuSet::ParseMaybeEmpty("1,^1"), CpuSet());
  EXPECT_FALSE(CpuSet::ParseMaybeEmpty("3-1").ok());
}

TEST(CpuSet, ARangeHasItsNumbersAndNoOthers) {
  for (const int first : {0, 1, 63, 64, 65, 127, 128}) {
    for (const int last : {0, 1, 62, 63, 64, 126, 127, 128, 200}) {
      CpuSet want;
      for (int cpu = first; cpu <= last; ++cpu) want.Insert(cpu);
      EXPECT_EQ(CpuSet::Range(first, last), want) << first << '-' << last;
    }
  }
  EXPECT_EQ(CpuSet::Range(0, CpuSet::kMaxCpu).Count(), CpuSet::kMaxCpu + 1);
  EXPECT_EQ(CpuSet::Parse("0-65535")->ToString(), "0-65535");
  EXPECT_EQ(CpuSet::Range(CpuSet::kMaxCpu, CpuSet::kMaxCpu), CpuSet{CpuSet::kMaxCpu});
  EXPECT_TRUE(CpuSet::Range(0, -1).empty());
}

TEST(CpuSet, AListHasABound) {
  std::string text = "1";
  for (int i = 1; i < CpuSet::kItemsMax; ++i) text += ",0-65535";
  EXPECT_EQ(CpuSet::ParseMaybeEmpty(text)->Count(), CpuSet::kMaxCpu + 1);
  text += ",";
  EXPECT_EQ(CpuSet::ParseMaybeEmpty(text).status().message(),
            "a CPU set must have at most 1024 items");
}

TEST(CpuSet, AgreesWithAPlainSet) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 500; ++round) {
    std::set<int> plain[2];
    CpuSet sets[2];
    for (int side = 0; side < 2; ++side) {
      for (uint64_t i = random() % 20; i > 0; --i) {
        const int cpu = static_cast<int>(random() % 200);
        plain[side].insert(cpu);
        sets[side].Insert(cpu);
      }
    }
    std::set<int> both;
    std::set<int> rest;
    for (const int cpu : plain[0]) (plain[1].count(cpu) != 0 ? both : rest).insert(cpu);
    std::set<int> any = plain[0];
    any.insert(plain[1].begin(), plain[1].end());
    const auto as_vector = [](const std::set<int>& set) {
      return std::vector<int>(set.begin(), set.end());
    };
    EXPECT_EQ(sets[0].And(sets[1]).Cpus(), as_vector(both));
    EXPECT_EQ(sets[0].Without(sets[1]).Cpus(), as_vector(rest));
    EXPECT_EQ(sets[0].Or(sets[1]).Cpus(), as_vector(any));
    EXPECT_EQ(sets[0].IsSubsetOf(sets[1]), rest.empty());
    EXPECT_EQ(sets[0].Count(), static_cast<int>(plain[0].size()));
    EXPECT_EQ(sets[0].First(), plain[0].empty() ? -1 : *plain[0].begin());
    EXPECT_EQ(sets[0].Without(sets[1]), sets[0].Without(sets[0].And(sets[1])));
    if (!plain[0].empty()) {
      EXPECT_EQ(*CpuSet::Parse(sets[0].ToString()), sets[0]);
    }
  }
}

std::optional<CpuSet> Set(const char* text) {
  if (*text == '\0') return std::nullopt;
  return *CpuSet::Parse(text);
}

TEST(GuestCpus, FollowTheConfiguredSets) {
  struct Case {
    const char* shared;
    const char* dedicated;
    const char* pins;
    bool power;
    int vcpus;  // -1: refused
    int pcpus;
    bool legacy;
  };
  const Case kCases[] = {
      {"", "", "", false, 8, 0, true},         // C-6, T-76
      {"", "4-7", "", false, 0, 4, false},     // C-6
      {"0-3", "4-7", "", false, 4, 4, false},  // C-6
      {"", "", "2-5", false, 4, 0, true},      // C-6, T-76
      {"0-1", "", "2-5", false, 4, 0, true},   // C-6, T-266 legacy
      {"0-9", "", "", false, -1, 0, false},    // C-6
      {"", "", "6-9", false, -1, 0, false},    // T-74
      {"", "6-9", "", false, -1, 0, false},    // T-75
      {"", "6-9", "", true, 0, 4, false},      // T-75: present suffices under power management
      {"", "6-12", "", true, -1, 0, false},    // T-75
      {"0-3", "", "", false, 4, 0, false},     // T-266
  };
  for (const Case& test : kCases) {
    NodeConfiguration node;
    node.cpu_shared_set = Set(test.shared);
    node.cpu_dedicated_set = Set(test.dedicated);
    node.vcpu_pin_set = Set(test.pins);
    node.cpu_power_management = test.power;
    const absl::StatusOr<GuestCpus> cpus =
        SelectGuestCpus(node, CpuSet::Range(0, 7), CpuSet::Range(0, 9));
    if (test.vcpus < 0) {
      EXPECT_EQ(cpus.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    ASSERT_TRUE(cpus.ok()) << cpus.status();
    EXPECT_EQ(cpus->shared.Count(), test.vcpus) << test.shared << '|' << test.pins;
    EXPECT_EQ(cpus->dedicated.Count(), test.pcpus) << test.dedicated;
    EXPECT_EQ(cpus->legacy, test.legacy) << test.shared << '|' << test.pins;
  }
}

// The sanitizers' allocators tell nothing here.
TEST(CpuSet, TakesMemoryForItsNumbersAlone) {
  std::vector<CpuSet> sets;
  sets.reserve(1000);
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 1000; ++i) sets.push_back(CpuSet{CpuSet::kMaxCpu});
  EXPECT_LT(mallinfo2().uordblks - before, 100'000u);
}

TEST(GuestCpus, SurviveHolesInTheOnlineSet) {
  NodeConfiguration node;
  const CpuSet online{0, 2, 64, 130};
  EXPECT_EQ(SelectGuestCpus(node, online, online)->shared.Count(), 4);  // T-77
}

TEST(GuestCpus, RefusalNamesOptionAndBothLists) {
  NodeConfiguration node;
  node.cpu_shared_set = CpuSet::Range(0, 9);
  const absl::Status status =
      SelectGuestCpus(node, CpuSet::Range(0, 7), CpuSet::Range(0, 7)).status();
  EXPECT_EQ(
      status.message(),
      "cpu_shared_set 0-9 names CPUs that are not online: the host's online CPUs are 0-7");  // T-74
}

}  // namespace
}  // namespace berth::tracker
