// Rules of the search, each shown in a small world: which providers serve a request, which do not.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/search/search.h"
#include "tests/worlds/request_notation.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

using Names = std::vector<std::string>;

// The candidates of an answer in their order, each as the names of the providers that give
// something, sorted by id, e.g. "cn+pool".
Names Answer(World& world, const std::string& ask) {
  const auto found = FindCandidates(world.state(), ParseRequest(world, ask), SearchBudget{});
  EXPECT_TRUE(found.ok()) << ask << ": " << found.status();
  Names names;
  if (!found.ok()) return names;
  for (const Candidate& candidate : found->candidates) {
    std::string name;
    for (const Allocation& allocation : candidate.allocations) {
      absl::StrAppend(&name, name.empty() ? "" : "+",
                      world.state().FindProvider(allocation.provider)->config().name);
    }
    names.push_back(name);
  }
  return names;
}

struct Row {
  const char* world;
  const char* ask;
  Names expected;
};

void ExpectRows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    World world(row.world);
    EXPECT_EQ(Answer(world, row.ask), row.expected) << row.world << "\n" << row.ask;
  }
}

#define SHARES "[MISC_SHARES_VIA_AGGREGATE]"

TEST(SearchRules, Sharing) {
  ExpectRows({
      {"cn{VCPU:4}(A)\npool{DISK_GB:8}(A)", "r VCPU:1,DISK_GB:1", {}},  // P-106, P-176
      {"cn{VCPU:4}(A)\npool" SHARES "{DISK_GB:8}(A)", "r VCPU:1,DISK_GB:1", {"cn+pool"}},  // P-108
      {"cn{VCPU:4}(A)\npool{DISK_GB:8}\n  tap" SHARES "{VGPU:8}(A)",
       "r VCPU:1,DISK_GB:1",
       {}},  // P-107
      {"cn{VCPU:4}(A)\npool{DISK_GB:8}\n  tap" SHARES "{VGPU:8}(A)",
       "r VCPU:1,VGPU:1",
       {"cn+tap"}},  // P-111
      {"cn{VCPU:4}\n  disk{DISK_GB:8}(A)\ntap" SHARES "{VGPU:8}(A)",
       "r VCPU:1,VGPU:1",
       {"cn+tap"}},  // P-108: the whole tree of a member
      {"a" SHARES "{DISK_GB:8}(A)\nb" SHARES "{VGPU:8}(A)",
       "r DISK_GB:1,VGPU:1",
       {"a+b"}},                                                                 // P-108, P-200
      {"cn{VCPU:4}(A)\nhermit" SHARES "{DISK_GB:8}", "r VCPU:1,DISK_GB:1", {}},  // P-109
      {"hermit" SHARES "{DISK_GB:8}", "r DISK_GB:1", {"hermit"}},                // P-109
      {"cn{VCPU:4}(A)\nmid{VGPU:1}(A,B)\npool" SHARES "{DISK_GB:8}(B)",
       "r VCPU:1,DISK_GB:1",
       {}},  // P-110
      {"cn{VCPU:4}(A,B)\np1" SHARES "{DISK_GB:8}(A)\np2" SHARES "{VGPU:8}(B)",
       "r VCPU:1,DISK_GB:1,VGPU:1",
       {"cn+p1+p2"}},  // P-110: through an aggregate each
      {"c1{VCPU:4}(A)\nc2{VCPU:4}(A)\npool" SHARES "{DISK_GB:8}(A)",
       "r VCPU:1; r.1 DISK_GB:1",
       {"c1+pool", "c2+pool"}},  // P-184
  });
}

TEST(SearchRules, ClaimsNeedNoCommonRoot) {
  World world("cn{VCPU:4}\npool{DISK_GB:8}");
  EXPECT_TRUE(Answer(world, "r VCPU:1,DISK_GB:1").empty());
  world.Must(SetAllocations{{world.Claim("c", "cn{VCPU:1} pool{DISK_GB:1}")}, false});  // P-112
}

TEST(SearchRules, SuffixedGroups) {
  ExpectRows({
      {"host\n  n1{VCPU:4}\n  n2{MEMORY_MB:8}", "r.1 VCPU:1,MEMORY_MB:1", {}},  // P-179
      {"host\n  n1{VCPU:4}\n  n2{MEMORY_MB:8}", "r VCPU:1,MEMORY_MB:1", {"n1+n2"}},
      {"host[CUSTOM_A]\n  n1{VCPU:4}", "r.1 VCPU:1 q.1 CUSTOM_A", {}},       // P-180
      {"host[CUSTOM_A]\n  n1{VCPU:4}", "r.1 VCPU:1 q.1 !CUSTOM_A", {"n1"}},  // P-180
      {"host(A)\n  n1{VCPU:4}", "r.1 VCPU:1 m.1 A", {}},                     // P-105, P-181
      {"host(A)\n  n1{VCPU:4}", "r.1 VCPU:1 m.1 !A", {"n1"}},                // P-181
      {"cn{VCPU:4, DISK_GB:8}(A)\npool" SHARES "{DISK_GB:8}(A)",
       "r VCPU:1; r.1 DISK_GB:1 t.1 pool",
       {"cn+pool"}},  // P-182
      {"host\n  n1[CUSTOM_A]\n    l1{VCPU:1}\n  n2\n    l2{VCPU:1}",
       "r._1 VCPU:1; q._2 CUSTOM_A; none; ss _1,_2",
       {"l1"}},  // P-183
      {"host\n  n1\n    l1{VCPU:1}\nother",
       "r._1 VCPU:1; t._2 other; none; ss _1,_2",
       {}},                                                               // P-183
      {"a{VCPU:1}\nb{VCPU:1, VGPU:1}", "r VCPU:1; r.1 VGPU:1", {"b+b"}},  // P-194
  });
}

TEST(SearchRules, UnsuffixedGroup) {
  ExpectRows({
      {"host\n  n1{VCPU:2}\n  n2{VCPU:2}", "r VCPU:3", {}},         // P-185
      {"host[CUSTOM_A]\n  n1{VCPU:4}", "r VCPU:1 q CUSTOM_A", {}},  // P-186
      {"cn[CUSTOM_SSD]{VCPU:4}(A)\npool" SHARES "{DISK_GB:8}(A)",
       "r VCPU:1,DISK_GB:1 q CUSTOM_SSD",
       {"cn+pool"}},                                                     // P-187
      {"host[CUSTOM_A]\n  n1{VCPU:4}", "r VCPU:1 q !CUSTOM_A", {"n1"}},  // P-188
      {"host\n  n1[CUSTOM_A]{VCPU:4}", "r VCPU:1 q !CUSTOM_A", {}},      // P-188
      {"host(A)\n  n1{VCPU:4}", "r VCPU:1 m A", {"n1"}},                 // P-105, P-189
      {"host(A)\n  n1{VCPU:4}(B)", "r VCPU:1 m A m B", {}},              // P-189
      {"cn{VCPU:4}(A,B)\npool" SHARES "{DISK_GB:8}(A)", "r VCPU:1,DISK_GB:1 m B", {}},  // P-189
      {"host\n  n1{VCPU:4}\n  n2(A)", "r VCPU:1 m A", {}},                              // P-190
      {"host\n  n1{VCPU:4}(A)", "r VCPU:1 m A", {"n1"}},                                // P-190
      {"host(A)\n  n1{VCPU:4}", "r VCPU:1 m !A", {}},                                   // P-191
      {"host\n  n1{VCPU:4}(A)\n  n2{VCPU:4}", "r VCPU:1 m !A", {"n2"}},                 // P-191
      {"cn(A){VCPU:4}", "r VCPU:1 m A m !A", {}},                                       // P-173
      {"cn{VCPU:4}(A)\n  n{VGPU:1}\npool" SHARES "{DISK_GB:8}(A)",
       "r VCPU:1,DISK_GB:1 t cn",
       {}},                                                                           // P-192
      {"cn{VCPU:4}\n  n{VGPU:1}\nother{VCPU:4}", "r VCPU:1 t n", {"cn"}},             // P-192
      {"cn{VCPU:4}", "r VCPU:1 t nobody", {}},                                        // P-193
      {"host\n  n1[CUSTOM_A]{VCPU:4}", "r VCPU:1 root CUSTOM_A", {}},                 // P-178
      {"host[CUSTOM_B]\n  n1[CUSTOM_A]{VCPU:4}", "r VCPU:1 root !CUSTOM_A", {"n1"}},  // P-178
      {"host[CUSTOM_B]\n  n1{VCPU:4}\nother[CUSTOM_A]",
       "r VCPU:1 root in:CUSTOM_A,CUSTOM_B q !CUSTOM_A",
       {"n1"}},                                                                  // P-172
      {"host(A)\n  n1{VCPU:4}\nother{VCPU:4}", "r VCPU:1 rootm A", {"n1"}},      // D-25
      {"host(A)\n  n1{VCPU:4}\nother{VCPU:4}", "r VCPU:1 rootm !A", {"other"}},  // D-25
  });
}

TEST(SearchRules, GroupsTogether) {
  const char* const kTwoLeaves = "host\n  n1{VCPU:1}\n    l1{VCPU:1}\n  n2{VCPU:1}\n";
  ExpectRows({
      {"host\n  n1{VCPU:2}\n  n2{VCPU:2}",
       "r._1 VCPU:1; r._2 VCPU:1; r._3 VCPU:1; none apart _1,_2",
       {"n1+n2", "n1+n2", "n1+n2", "n1+n2"}},  // D-25: _3 goes anywhere
      {kTwoLeaves,
       "r._1 VCPU:1; r._2 VCPU:1; none sep _1,_2",
       {"n1+n2", "l1+n2", "n1+n2", "l1+n2"}},  // D-25: n1 stands above l1
      {"host\n  top{VCPU:1}\n    m1[CUSTOM_A]\n      l1{VGPU:1}\n    m2[CUSTOM_A]",
       "r._1 VCPU:1; q._2 CUSTOM_A; r._3 VGPU:1; none ss _1,_2 ss _2,_3",
       {"top+l1"}},  // P-199
      {"host\n  top{VCPU:1}\n    m1[CUSTOM_A]\n      l1{VGPU:1}\n    m2[CUSTOM_A]",
       "r._1 VCPU:1; q._2 CUSTOM_A; r._3 VGPU:1; none ss _1,_2,_3",
       {"top+l1", "top+l1"}},  // P-199
  });
}

#undef SHARES

TEST(SearchRules, CandidatesReserveNothing) {
  World world("cn{VCPU:4}");
  const StatePtr before = world.Snapshot();
  const std::string text = TextOf(world.state());
  EXPECT_EQ(Answer(world, "r VCPU:4"), Names{"cn"});
  EXPECT_EQ(TextOf(world.state()), text);  // P-212
  world.Must(SetAllocations{{world.Claim("c", "cn{VCPU:4}")}, false});
  EXPECT_EQ(Answer(world, "r VCPU:4"), Names{});
  const auto found = FindCandidates(*before, ParseRequest(world, "r VCPU:4"), SearchBudget{});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->candidates.size(), 1u);  // P-211: all of it from one state
}

}  // namespace
}  // namespace berth::placement
