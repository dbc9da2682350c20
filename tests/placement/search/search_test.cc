// Properties of an answer other than which candidates it holds: order, limits, budget, how much
// work is done, summaries, retired nodes.
#include "placement/search/search.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/request_notation.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

SearchResult Find(const State& state, const CandidateRequest& request,
                  const SearchBudget& budget = {}) {
  absl::StatusOr<SearchResult> found = FindCandidates(state, request, budget);
  EXPECT_TRUE(found.ok()) << found.status();
  return found.ok() ? *std::move(found) : SearchResult{};
}

// The candidates of an answer in their order, each as its providers and classes, e.g. "a:VCPU".
std::vector<std::string> NamesOf(const State& state, const SearchResult& found) {
  std::vector<std::string> names;
  for (const Candidate& candidate : found.candidates) {
    std::string name;
    for (const Allocation& allocation : candidate.allocations) {
      absl::StrAppend(&name, name.empty() ? "" : "+",
                      state.FindProvider(allocation.provider)->config().name);
    }
    names.push_back(name);
  }
  return names;
}

// Two hosts with two children each. The order of their ids is not their order in the tree.
World TwoHosts() {
  World world;
  for (const char* name : {"b", "a2", "a1", "a", "b1", "b2"}) world.provider(name);
  world.Add(R"(
    a{MEMORY_MB:64}
      a1{VCPU:4}
      a2{VCPU:4}
    b{MEMORY_MB:64}
      b1{VCPU:4}
      b2{VCPU:4}
  )");
  return world;
}

using Names = std::vector<std::string>;

TEST(Search, RootsTakeTurns) {
  World world = TwoHosts();
  const CandidateRequest request = ParseRequest(world, "r VCPU:1");
  const SearchResult found = Find(world.state(), request);
  EXPECT_EQ(NamesOf(world.state(), found), (Names{"b1", "a2", "b2", "a1"}));  // P-209, D-12
}

TEST(Search, LimitCutsTheSameOrder) {
  World world = TwoHosts();
  CandidateRequest request = ParseRequest(world, "r VCPU:1");
  const Names all = NamesOf(world.state(), Find(world.state(), request));
  for (int limit = 1; limit <= 5; ++limit) {
    request.limit = limit;
    const SearchResult found = Find(world.state(), request);
    const Names expected(all.begin(), all.begin() + std::min(limit, 4));
    EXPECT_EQ(NamesOf(world.state(), found), expected);   // P-208
    EXPECT_FALSE(found.truncated) << limit;               // P-213: the caller's own limit
    EXPECT_EQ(found.trees.size(), limit == 1 ? 1u : 2u);  // P-208, P-220: summaries shrink too
  }
}

TEST(Search, CapSaysThatItCut) {
  World world = TwoHosts();
  CandidateRequest request = ParseRequest(world, "r VCPU:1");
  SearchBudget budget;
  budget.candidates_max = 3;
  SearchResult found = Find(world.state(), request, budget);
  EXPECT_EQ(NamesOf(world.state(), found), (Names{"b1", "a2", "b2"}));
  EXPECT_TRUE(found.truncated);  // P-213
  budget.candidates_max = 4;
  EXPECT_FALSE(Find(world.state(), request, budget).truncated);  // P-213: nothing was cut
  budget.candidates_max = 3;
  request.limit = 3;
  EXPECT_FALSE(Find(world.state(), request, budget).truncated);
  budget.candidates_max = 1;
  request.limit.reset();
  found = Find(world.state(), request, budget);
  EXPECT_EQ(found.trees.size(), 1u);  // P-205: no tree of what was left out
}

TEST(Search, BudgetEnds) {
  World world = TwoHosts();
  const CandidateRequest request = ParseRequest(world, "r VCPU:1");
  SearchBudget budget;
  budget.steps_max = 1;
  const absl::Status status = FindCandidates(world.state(), request, budget).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);   // P-215
  EXPECT_EQ(RefusalOf(status)->reason, "SEARCH_BUDGET_EXCEEDED");  // P-215
  bool cut = false;
  for (budget.steps_max = 5; budget.steps_max < 100; ++budget.steps_max) {
    const auto found = FindCandidates(world.state(), request, budget);
    if (!found.ok()) continue;
    EXPECT_TRUE(found->truncated || found->candidates.size() == 4) << budget.steps_max;  // P-215
    cut |= found->candidates.size() < 4;
  }
  EXPECT_TRUE(cut);
}

TEST(Search, SummariesAreWholeTreesOfWhatServes) {
  World world(R"(
    cn1{VCPU:4}(agg1)
      numa{MEMORY_MB:64}
    idle{MEMORY_MB:64}(agg1)
    pool[MISC_SHARES_VIA_AGGREGATE]{DISK_GB:100}(agg1)
      shelf
  )");
  SearchResult found = Find(world.state(), ParseRequest(world, "r VCPU:1,DISK_GB:1"));
  ASSERT_EQ(found.trees.size(), 2u);  // P-205
  EXPECT_EQ(found.trees[0]->root_id(), world.provider("cn1"));
  EXPECT_EQ(found.trees[1]->root_id(), world.provider("pool"));
  found = Find(world.state(), ParseRequest(world, "r DISK_GB:1"));
  EXPECT_EQ(NamesOf(world.state(), found), (Names{"pool"}));  // P-177, P-200: three roots, once
  ASSERT_EQ(found.trees.size(), 1u);  // P-205: the root alone does not count
  EXPECT_EQ(found.trees[0]->root_id(), world.provider("pool"));
}

TEST(Search, NothingFits) {
  World world = TwoHosts();
  const SearchResult found = Find(world.state(), ParseRequest(world, "r VCPU:5"));
  EXPECT_TRUE(found.candidates.empty());  // P-207
  EXPECT_TRUE(found.trees.empty());       // P-207
  EXPECT_FALSE(found.truncated);
}

// A world of `count` hosts without children. It is made directly, without commands, because it is
// large. All hosts but the last have the trait CUSTOM_FULL.
State FlatHosts(int count) {
  State state;
  Changes changes = {ClassPut{ClassId{1}, "VCPU"}, ClassPut{ClassId{2}, "MEMORY_MB"},
                     ClassPut{ClassId{3}, "DISK_GB"}, TraitPut{TraitId{1}, "CUSTOM_FULL"}};
  for (int i = 0; i < count; ++i) {
    auto config = std::make_shared<ProviderConfig>();
    config->id = ProviderId{{1, static_cast<uint64_t>(i)}};
    config->name = absl::StrCat("host", i);
    for (const auto& [id, total] : {std::pair{1u, 64}, {2u, 262144}, {3u, 2000}}) {
      InventoryRow& row = config->inventories.emplace_back();
      row.resource_class = ClassId{id};
      row.inventory.total = row.capacity = total;
    }
    if (i + 1 < count) config->traits.push_back(TraitId{1});
    changes.push_back(ProviderPut{config});
  }
  state.Apply(changes);
  return state;
}

TEST(Search, LooksOnlyAsFarAsItMust) {
  World world;  // for names only
  const State state = FlatHosts(10'000);
  CandidateRequest request = ParseRequest(world, "r VCPU:2,MEMORY_MB:4096,DISK_GB:20 limit 100");
  SearchBudget budget;
  budget.steps_max = 100 * 7 + 1;  // for each of 100 hosts: itself, three tests and three choices
  EXPECT_EQ(Find(state, request, budget).candidates.size(), 100u);
  request.groups[0].resources[1].amount =
      262145;  // more than any host has, which the columns of the chunks show
  budget.steps_max = 1;
  EXPECT_TRUE(Find(state, request, budget).candidates.empty());
  budget.steps_max = 8;  // enough for one host; the marks of the chunks rule out the others
  for (const char* text :
       {"r VCPU:1 q !CUSTOM_FULL", "r.1 VCPU:1 q.1 !CUSTOM_FULL", "r VCPU:1 root !CUSTOM_FULL"}) {
    const SearchResult found = Find(state, ParseRequest(world, text), budget);
    EXPECT_EQ(found.candidates.size(), 1u) << text;
    EXPECT_FALSE(found.truncated) << text;
  }
}

TEST(Search, RetiredNodesAreOutOfService) {
  World world(R"(
    cn1{VCPU:4}
    cn2{VCPU:4}
  )");
  State state = world.state();
  auto node = std::make_shared<NodeRecord>();
  node->id = world.provider("cn1");
  node->name = "cn1";
  node->host = "cn1";
  state.Apply({NodePut{node}});
  EXPECT_EQ(NamesOf(state, Find(state, ParseRequest(world, "r VCPU:1"))), (Names{"cn1", "cn2"}));
  auto retired = std::make_shared<NodeRecord>(*node);
  retired->retired = true;
  state.Apply({NodePut{retired}});
  EXPECT_EQ(NamesOf(state, Find(state, ParseRequest(world, "r VCPU:1"))), (Names{"cn2"}));  // T-40
}

TEST(Search, StaleRootsAreLeftOutWhereAsked) {
  World world(R"(
    down{VCPU:4}
    forced{VCPU:4}
    mute{VCPU:4}
    nobodys{VCPU:4}
    up{VCPU:4}
  )");
  State state = world.state();
  for (const char* name : {"down", "forced", "mute", "up"}) {
    auto service = std::make_shared<ServiceRecord>();
    service->host = name;
    service->binary = "berth-tracker";
    service->up = name != std::string("down");
    service->forced_down = name == std::string("forced");
    auto node = std::make_shared<NodeRecord>();
    node->id = world.provider(name);
    node->name = node->host = name;
    if (name != std::string("mute")) node->digest = "d";
    state.Apply({ServicePut{service}, NodePut{node}});
  }
  CandidateRequest request = ParseRequest(world, "r VCPU:1");
  EXPECT_EQ(Find(state, request).candidates.size(), 5u);
  request.exclude_stale_roots = true;
  EXPECT_EQ(NamesOf(state, Find(state, request)), (Names{"nobodys", "up"}));
}

// An amount that no provider can give alone is divided among several.
TEST(Search, DividedAmounts) {
  World world(R"(
    host
      n1{VCPU:4}
      n2{VCPU:4 step 2}
      n3{VCPU:8 used 7}
  )");
  const auto parts = [&world](const std::string& text) {
    std::vector<std::string> found;
    for (const Candidate& candidate : Find(world.state(), ParseRequest(world, text)).candidates) {
      std::string part;
      for (const Allocation& each : candidate.allocations) {
        absl::StrAppend(&part, part.empty() ? "" : "+", each.amount);
      }
      found.push_back(part);
    }
    return found;
  };
  EXPECT_EQ(parts("r VCPU:6"), Names{});
  EXPECT_EQ(parts("r VCPU:6 max VCPU:2"), Names{"4+2"});  // D-26
  EXPECT_EQ(parts("r VCPU:9 max VCPU:3"), Names{"4+4+1"});
  EXPECT_EQ(parts("r VCPU:4 max VCPU:3"), (Names{"4", "4"}));  // no provider that is not needed
  EXPECT_EQ(parts("r VCPU:10 max VCPU:3"), Names{});
  EXPECT_EQ(parts("r VCPU:5 max VCPU:2; r.1 VCPU:1"), (Names{"4+2", "1+4+1", "3+2+1"}));
}

}  // namespace
}  // namespace berth::placement
