// The order of candidates: strategies, weights, random order. No order may lose a candidate.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/search/search.h"
#include "placement/values/refusal.h"
#include "tests/worlds/request_notation.h"
#include "tests/worlds/seed.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

using Names = std::vector<std::string>;

SearchResult FindInOrder(const State& state, const CandidateRequest& request,
                         const SearchBudget& budget = {}) {
  absl::StatusOr<SearchResult> found = FindCandidates(state, request, budget);
  EXPECT_TRUE(found.ok()) << found.status();
  return found.ok() ? *std::move(found) : SearchResult{};
}

// The providers of each candidate.
Names ProvidersOf(const State& state, const SearchResult& found) {
  Names names;
  for (const Candidate& candidate : found.candidates) {
    std::string name;
    const Allocation* last = nullptr;
    for (const Allocation& allocation : candidate.allocations) {
      if (last == nullptr || last->provider != allocation.provider) {
        absl::StrAppend(&name, name.empty() ? "" : "+",
                        state.FindProvider(allocation.provider)->config().name);
      }
      last = &allocation;
    }
    names.push_back(name);
  }
  return names;
}

// Free fractions of VCPU and memory: a 3/4 and 1/4, b 1/2 and 1/2, c 1/4 and all, d as b. The ids
// rise from a to d.
constexpr char kFour[] = R"(
  a[CUSTOM_GOLD]{VCPU:8 used 2, MEMORY_MB:64 used 48}
  b{VCPU:16 used 8, MEMORY_MB:64 used 32}
  c[CUSTOM_OLD]{VCPU:4 used 3, MEMORY_MB:64}
  d[CUSTOM_GOLD,CUSTOM_OLD]{VCPU:2 used 1, MEMORY_MB:8 used 4}
)";

struct Case {
  Strategy strategy;
  std::vector<NamedWeight> classes, traits;
  Names expected;
};

TEST(SearchOrder, StrategiesAndWeights) {  // D-30
  const Case cases[] = {
      {Strategy::kFirst, {}, {}, {"a", "b", "c", "d"}},
      {Strategy::kSpread, {}, {}, {"c", "a", "b", "d"}},  // 1.25, 1, 1, 1: ties by uuid
      {Strategy::kPack, {}, {}, {"a", "b", "d", "c"}},
      {Strategy::kSpread, {{"VCPU", 1}}, {}, {"a", "b", "d", "c"}},
      {Strategy::kPack, {{"VCPU", 1}}, {}, {"c", "b", "d", "a"}},
      {Strategy::kSpread, {{"VCPU", 0.5}, {"MEMORY_MB", 1}}, {}, {"c", "b", "d", "a"}},
      {Strategy::kSpread, {{"VCPU", 0}}, {}, {"a", "b", "c", "d"}},
      // A weighted class need not be one that the query asks for. One that nobody offers has no
      // effect.
      {Strategy::kSpread, {{"DISK_GB", 1000}, {"VCPU", 1}}, {}, {"a", "b", "d", "c"}},
      {Strategy::kFirst, {}, {{"CUSTOM_GOLD", 1}}, {"a", "d", "b", "c"}},
      {Strategy::kFirst, {}, {{"CUSTOM_OLD", -1}}, {"a", "b", "c", "d"}},
      {Strategy::kFirst, {}, {{"CUSTOM_GOLD", 2}, {"CUSTOM_OLD", 1}}, {"d", "a", "c", "b"}},
      {Strategy::kSpread, {}, {{"CUSTOM_OLD", -0.3}}, {"a", "b", "c", "d"}},
      {Strategy::kSpread, {}, {{"CUSTOM_OLD", -0.2}}, {"c", "a", "b", "d"}},
      {Strategy::kSpread, {}, {{"CUSTOM_NOBODY", 5}}, {"c", "a", "b", "d"}},
      {Strategy::kPack, {}, {{"CUSTOM_GOLD", 0.1}}, {"a", "d", "b", "c"}},
  };
  World world(kFour);
  for (const Case& each : cases) {
    CandidateRequest request = ParseRequest(world, "r VCPU:1,MEMORY_MB:1");
    request.order = {each.strategy, each.classes, each.traits, 0};
    EXPECT_EQ(ProvidersOf(world.state(), FindInOrder(world.state(), request)), each.expected)
        << &each - cases;
  }
}

TEST(SearchOrder, SharesAreOfTheWholeTree) {
  World world(R"(
    a{MEMORY_MB:64}
      a1{VCPU:4 used 4}
      a2{VCPU:4 used 1}
    b{MEMORY_MB:64}
      b1{VCPU:4 used 2}
  )");
  CandidateRequest request = ParseRequest(world, "r VCPU:1");
  request.order.strategy = Strategy::kSpread;
  EXPECT_EQ(ProvidersOf(world.state(), FindInOrder(world.state(), request)), (Names{"b1", "a2"}));
  request.order.strategy = Strategy::kPack;
  EXPECT_EQ(ProvidersOf(world.state(), FindInOrder(world.state(), request)), (Names{"a2", "b1"}));
}

// Roots take turns (P-209). With a weighted trait, roots and the candidates of a root come first if
// their providers have the trait.
TEST(SearchOrder, TraitsCountOnTheProvidersThatServe) {
  World world(R"(
    a[CUSTOM_FAST]
      a1{VCPU:4}
      a2{VCPU:4}
    b
      b1{VCPU:4}
      b2[CUSTOM_FAST]{VCPU:4}
    c[CUSTOM_FAST]{VCPU:4}
  )");
  CandidateRequest request = ParseRequest(world, "r VCPU:1");
  request.order.trait_weights = {{"CUSTOM_FAST", 1}};
  EXPECT_EQ(ProvidersOf(world.state(), FindInOrder(world.state(), request)),
            (Names{"b2", "c", "a1", "b1", "a2"}));
  request.order.trait_weights = {{"CUSTOM_FAST", -1}};
  EXPECT_EQ(ProvidersOf(world.state(), FindInOrder(world.state(), request)),
            (Names{"a1", "b1", "c", "a2", "b2"}));
  World sharing(R"(
    a{VCPU:4}(agg1)
    b{VCPU:4}(agg1,agg2)
    c[CUSTOM_FAST]{VCPU:4, DISK_GB:9}
    slow[MISC_SHARES_VIA_AGGREGATE]{DISK_GB:9}(agg1)
    fast[MISC_SHARES_VIA_AGGREGATE,CUSTOM_FAST]{DISK_GB:9}(agg2)
  )");
  request = ParseRequest(sharing, "r VCPU:1,DISK_GB:1");
  request.order.trait_weights = {{"CUSTOM_FAST", 1}};
  EXPECT_EQ(ProvidersOf(sharing.state(), FindInOrder(sharing.state(), request)),
            (Names{"b+fast", "c", "a+slow", "b+slow"}));
}

// Hosts with different amounts of free VCPU.
World Hosts(int count) {
  std::string notation;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&notation, "h", i, "{VCPU:1000 used ", 1 + (i * 37) % count, "}\n");
  }
  return World(notation);
}

TEST(SearchOrder, ALimitIsTheBeginningOfTheWhole) {
  constexpr int kHosts = kSanitized ? 90 : 300;
  World world = Hosts(kHosts);
  CandidateRequest request = ParseRequest(world, "r VCPU:1");
  for (const Strategy strategy : {Strategy::kSpread, Strategy::kPack, Strategy::kRandom}) {
    request.order.strategy = strategy;
    request.limit.reset();
    const Names all = ProvidersOf(world.state(), FindInOrder(world.state(), request));
    EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), size_t{kHosts});  // P-210
    for (const int limit : {1, 2, 16, 17, 80, kHosts - 1, kHosts, 1000}) {
      request.limit = limit;
      EXPECT_EQ(ProvidersOf(world.state(), FindInOrder(world.state(), request)),
                Names(all.begin(), all.begin() + std::min<size_t>(limit, all.size())));
    }
  }
}

// Many roots wait for their turn, because another root could still be better. Those of them that
// the limit leaves no place for are dropped while they wait.
TEST(SearchOrder, ALimitIsTheBeginningOfTheWholeByTraits) {
  constexpr int kHosts = kSanitized ? 120 : 400;
  constexpr int kCandidates = kHosts / 4 * (1 + 2 + 3 + 4);
  std::string notation;
  for (int i = 0; i < kHosts; ++i) {
    absl::StrAppend(&notation, "h", i, "\n");
    for (int c = 0; c <= i % 4; ++c) {
      absl::StrAppend(&notation, "  c", i, "x", c, (i * 7 + c * 3) % 5 < 2 ? "[CUSTOM_OLD]" : "",
                      (i + c) % 3 == 0 ? "[CUSTOM_FAST]" : "", "{VCPU:4}\n");
    }
  }
  World world(notation);
  CandidateRequest request = ParseRequest(world, "r VCPU:1");
  request.order.trait_weights = {{"CUSTOM_OLD", -1}, {"CUSTOM_FAST", 0.25}};
  const Names all = ProvidersOf(world.state(), FindInOrder(world.state(), request));
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), size_t{kCandidates});
  for (const int limit : {1, 2, 16, 100, kHosts - 1, kHosts + 1, kHosts * 7 / 4, kCandidates}) {
    request.limit = limit;
    EXPECT_EQ(ProvidersOf(world.state(), FindInOrder(world.state(), request)),
              Names(all.begin(), all.begin() + limit));
    SearchBudget capped;
    capped.candidates_max = limit;
    request.limit.reset();
    const SearchResult found = FindInOrder(world.state(), request, capped);
    EXPECT_EQ(ProvidersOf(world.state(), found), Names(all.begin(), all.begin() + limit));
    EXPECT_EQ(found.truncated, limit < kCandidates);
  }
}

// If every root could have a better score than it really has, all roots are examined before the
// first candidate is taken. If the budget is spent before, the roots examined so far are the result
// (P-215).
TEST(SearchOrder, ASpentBudgetKeepsWhatItFound) {
  std::string notation;
  for (int i = 0; i < 300; ++i) {
    absl::StrAppend(&notation, "h", i, "\n  c", i, "[CUSTOM_OLD]{VCPU:4}\n");
  }
  World world(notation);
  CandidateRequest request = ParseRequest(world, "r VCPU:1 limit 5");
  request.order.trait_weights = {{"CUSTOM_OLD", -1}};
  SearchBudget budget;
  budget.steps_max = 200;
  const SearchResult found = FindInOrder(world.state(), request, budget);
  EXPECT_EQ(ProvidersOf(world.state(), found), (Names{"c0", "c1", "c2", "c3", "c4"}));
  request.limit = 250;
  const SearchResult most = FindInOrder(world.state(), request, budget);
  EXPECT_GT(most.candidates.size(), 10u);
  EXPECT_LT(most.candidates.size(), 250u);
  EXPECT_TRUE(most.truncated);
}

TEST(SearchOrder, LooksOnlyAtTheBest) {
  World world = Hosts(1000);
  CandidateRequest request = ParseRequest(world, "r VCPU:1 limit 10");
  request.order.strategy = Strategy::kSpread;
  SearchBudget budget;
  // For each of 10 hosts: one step for the host, one test and one choice. For each of 4 chunks: the
  // steps of its scores.
  budget.steps_max = 10 * 3 + 4 * 14 + 1;
  EXPECT_EQ(FindInOrder(world.state(), request, budget).candidates.size(), 10u);
}

// The best roots are in the first of four chunks. The other chunks cost one step each.
TEST(SearchOrder, PassesOverChunksThatCannotHoldABetterRoot) {
  std::string notation;
  for (int i = 0; i < 1000; ++i) {
    absl::StrAppend(&notation, "h", i, "{VCPU:1000 used ", i + 1, "}\n");
  }
  World world(notation);
  CandidateRequest request = ParseRequest(world, "r VCPU:1 limit 10");
  request.order.strategy = Strategy::kSpread;
  SearchBudget budget;
  budget.steps_max = 10 * 3 + 14 + 3 + 1;
  const SearchResult found = FindInOrder(world.state(), request, budget);
  ASSERT_EQ(found.candidates.size(), 10u);
  EXPECT_EQ(ProvidersOf(world.state(), found).front(), "h0");
}

TEST(SearchOrder, ChanceIsFairAndComesFromTheSeed) {
  World world = Hosts(8);
  CandidateRequest request = ParseRequest(world, "r VCPU:1");
  request.order.strategy = Strategy::kRandom;
  std::map<std::string, int> first;
  for (request.order.seed = 1; request.order.seed <= 4000; ++request.order.seed) {
    const Names names = ProvidersOf(world.state(), FindInOrder(world.state(), request));
    ASSERT_EQ(names, ProvidersOf(world.state(), FindInOrder(world.state(), request)));
    ++first[names[0]];
  }
  for (const auto& [name, times] : first) EXPECT_NEAR(times, 500, 120) << name;  // P-210
  EXPECT_EQ(first.size(), 8u);
}

TEST(SearchOrder, Refusals) {
  World world(kFour);
  const auto reason_of = [&](const CandidateOrder& order) {
    CandidateRequest request = ParseRequest(world, "r VCPU:1");
    request.order = order;
    const absl::Status status = FindCandidates(world.state(), request, {}).status();
    return status.ok() ? "" : RefusalOf(status)->reason;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  using enum Strategy;
  EXPECT_EQ(reason_of({kSpread, {{"VCPU", 1000}}, {{"CUSTOM_GOLD", -1000}}, 0}), "");
  EXPECT_EQ(reason_of({kSpread, {{"VCPU", 1001}}, {}, 0}), "INVALID_FIELD");
  EXPECT_EQ(reason_of({kSpread, {{"VCPU", -1}}, {}, 0}), "INVALID_FIELD");
  EXPECT_EQ(reason_of({kSpread, {{"VCPU", nan}}, {}, 0}), "INVALID_FIELD");
  EXPECT_EQ(reason_of({kFirst, {}, {{"CUSTOM_GOLD", -1000.5}}, 0}), "INVALID_FIELD");
  EXPECT_EQ(reason_of({kFirst, {}, {{"gold", 1}}, 0}), "INVALID_FIELD");
  EXPECT_EQ(reason_of({kPack, {{"CUSTOM_NONE", 1}}, {}, 0}), "RESOURCE_CLASS_NOT_FOUND");
  const std::vector<NamedWeight> many(257, {"VCPU", 1});
  EXPECT_EQ(reason_of({kPack, many, {}, 0}), "INVALID_FIELD");
}

}  // namespace
}  // namespace berth::placement
