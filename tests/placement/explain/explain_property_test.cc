// Random small worlds and requests: each number of an explanation is equal to what a program finds
// that tries everything with that part of the request. BERTH_SEED repeats a run; BERTH_ROUNDS sets
// its length.
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/explain/explain.h"
#include "tests/worlds/brute_force.h"
#include "tests/worlds/random_requests.h"

namespace berth::placement {
namespace {

AggregateId AggregateOf(const std::string& text) { return *AggregateId::Parse(text); }

std::vector<AggregateId> AggregatesOf(const std::vector<std::string>& texts) {
  std::vector<AggregateId> aggregates;
  for (const std::string& text : texts) aggregates.push_back(AggregateOf(text));
  return aggregates;
}

int64_t RootsOf(const State& state, const CandidateRequest& request, BruteOptions options = {}) {
  options.first_only = true;
  return static_cast<int64_t>(AllByRoot(state, request, options).size());
}

// Builds up a request, one constraint at a time.
class Part {
 public:
  explicit Part(const CandidateRequest& whole) : whole_(whole) { options_.ignore_sums = true; }

  void Add(const Constraint& added) {
    const std::vector<std::string>& names = added.names;
    switch (added.kind) {
      case ConstraintKind::kRootTraits:
        if (names[0][0] == '!') return part_.root_forbidden.push_back(names[0].substr(1));
        return part_.root_required.push_back(names);
      case ConstraintKind::kRootAggregates:
        if (names[0][0] != '!') return part_.root_member_of.push_back(AggregatesOf(names));
        return part_.root_forbidden_aggregates.push_back(AggregateOf(names[0].substr(1)));
      case ConstraintKind::kForbiddenRoots:
        part_.forbidden_roots = whole_.forbidden_roots;
        return;
      case ConstraintKind::kIsolate:
        return part_.isolate.push_back(names);
      case ConstraintKind::kSameSubtree:
        return part_.same_subtree.push_back(names);
      case ConstraintKind::kSeparateSubtrees:
        return part_.separate_subtrees.push_back(names);
      case ConstraintKind::kCombination:
        part_ = whole_;
        options_.ignore_sums = false;
        return;
      default:
        return AddToGroup(added);
    }
  }

  int64_t Roots(const State& state) const { return RootsOf(state, part_, options_); }

 private:
  void AddToGroup(const Constraint& added) {
    RequestGroup& group = Group(added.suffix);
    const std::vector<std::string>& names = added.names;
    switch (added.kind) {
      case ConstraintKind::kInventory:
        options_.ignore_use.insert({added.suffix, names[0]});
        return group.resources.push_back({names[0], added.amount});
      case ConstraintKind::kFree:
        options_.ignore_use.erase({added.suffix, names[0]});
        return;
      case ConstraintKind::kInTree:
        group.in_tree = ProviderId::Parse(names[0]);
        return;
      case ConstraintKind::kRequiredTraits:
        return group.required.push_back(names);
      case ConstraintKind::kForbiddenTraits:
        group.forbidden = names;
        return;
      case ConstraintKind::kMemberOf:
        return group.member_of.push_back(AggregatesOf(names));
      default:
        group.forbidden_aggregates = AggregatesOf(names);
    }
  }
  RequestGroup& Group(const std::string& suffix) {
    for (RequestGroup& group : part_.groups) {
      if (group.suffix == suffix) return group;
    }
    part_.groups.emplace_back().suffix = suffix;
    return part_.groups.back();
  }

  const CandidateRequest& whole_;
  CandidateRequest part_;
  BruteOptions options_;
};

void ExpectSteps(const State& state, const CandidateRequest& request, const Explanation& said) {
  Part part(request);
  int64_t before = said.root_count;
  for (const FilterStep& step : said.steps) {
    part.Add(step.constraint);
    EXPECT_EQ(step.roots_before, before);
    EXPECT_EQ(step.roots_after, part.Roots(state)) << "at step " << &step - said.steps.data();
    before = step.roots_after;
  }
}

CandidateRequest WithAmount(CandidateRequest request, const Constraint& of, Amount amount) {
  for (RequestGroup& group : request.groups) {
    if (group.suffix != of.suffix) continue;
    for (NamedAmount& each : group.resources) {
      if (each.resource_class == of.names[0]) each.amount = amount;
    }
  }
  return request;
}

// The largest amount below the one asked for that fits somewhere, found by trying all, largest
// first.
Amount LargestFitting(const State& state, const CandidateRequest& request, const Constraint& of) {
  for (Amount amount = of.amount - 1; amount > 0; --amount) {
    if (RootsOf(state, WithAmount(request, of, amount)) > 0) return amount;
  }
  return 0;
}

void ExpectAmounts(const State& state, const CandidateRequest& request, const Explanation& said) {
  for (const FilterStep& step : said.steps) {
    if (step.constraint.kind != ConstraintKind::kFree) continue;
    const Amount expected = LargestFitting(state, request, step.constraint);
    const auto told = std::find_if(
        said.relaxations.begin(), said.relaxations.end(),
        [&step](const Relaxation& each) { return each.constraint == step.constraint; });
    const bool is_told = told != said.relaxations.end();
    EXPECT_EQ(is_told ? told->fitting_amount : 0, expected) << step.constraint.names[0];
    if (expected == 0) continue;
    ASSERT_TRUE(is_told);
    EXPECT_EQ(told->root_count, RootsOf(state, WithAmount(request, step.constraint, expected)));
  }
}

void ExpectNearMisses(const State& state, const CandidateRequest& request, const Explanation& said,
                      int limit) {
  BruteOptions options;
  options.first_only = true;
  const CandidatesByRoot fitting = AllByRoot(state, request, options);
  const int64_t misses = said.root_count - static_cast<int64_t>(fitting.size());
  EXPECT_EQ(said.near_misses.size(), static_cast<size_t>(std::min<int64_t>(misses, limit)));
  size_t least = 0;
  for (const NearMiss& miss : said.near_misses) {
    EXPECT_FALSE(fitting.contains(miss.root)) << miss.name;
    EXPECT_FALSE(miss.shortfalls.empty()) << miss.name;
    EXPECT_GE(miss.shortfalls.size(), least);  // nearest first
    least = miss.shortfalls.size();
  }
}

class ExplainProperty : public testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(ExplainProperty, EveryNumberIsWhatTryingEverythingFinds) {
  const auto [sharing, suffixed] = GetParam();
  const uint64_t first = NumberFrom("BERTH_SEED", std::random_device()());
  const uint64_t rounds = NumberFrom("BERTH_ROUNDS", 500);
  std::printf("BERTH_SEED=%llu\n", static_cast<unsigned long long>(first));
  int fitting = 0;
  int relaxed = 0;
  for (uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed, " BERTH_ROUNDS=1"));
    Dice dice(seed);
    RandomWorld random(dice, sharing);
    const State& state = random.world.state();
    for (int i = 0; i < 3; ++i) {
      CandidateRequest request = RandomRequest(dice, random, suffixed);
      const bool divided = !request.groups.empty() && !request.groups[0].max_providers.empty();
      const auto said = Explain(state, request, 2, SearchBudget{});
      if (!said.ok()) continue;  // malformed
      EXPECT_FALSE(said->truncated);
      EXPECT_EQ(said->root_count, state.roots().size());
      EXPECT_EQ(said->fitting_root_count, RootsOf(state, request));
      ExpectNearMisses(state, request, *said, 2);
      fitting += said->fitting_root_count > 0;
      relaxed += !said->relaxations.empty();
      if (divided) continue;  // its constraints are not independent
      ExpectSteps(state, request, *said);
      if (said->fitting_root_count == 0) ExpectAmounts(state, request, *said);
    }
    if (HasFailure()) ADD_FAILURE() << random.notation;
  }
  std::printf("%d requests fitted, %d more could be relaxed\n", fitting, relaxed);
}

INSTANTIATE_TEST_SUITE_P(Worlds, ExplainProperty,
                         testing::Values(std::pair(false, false), std::pair(true, false),
                                         std::pair(false, true), std::pair(true, true)));

}  // namespace
}  // namespace berth::placement
