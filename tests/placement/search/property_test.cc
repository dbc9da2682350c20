// Random small worlds and requests: the search finds the same candidates as a program that tries
// everything (P-204), and each candidate can be claimed (P-203). A run makes 100,000 worlds with
// three requests each. BERTH_SEED repeats a run; BERTH_ROUNDS sets the number of worlds of each
// kind.
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/search/search.h"
#include "tests/worlds/brute_force.h"
#include "tests/worlds/random_requests.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

// P-203: claims a candidate in a copy of the world, so that other claims do not take its capacity.
void ExpectClaimable(const World& world, const Candidate& candidate) {
  World copy = world;
  ConsumerAllocations claim{
      copy.consumer("claimant"), std::nullopt, "project", "user", "INSTANCE", {}};
  for (const Allocation& allocation : candidate.allocations) {
    const std::string& name = world.state().catalog().classes.NameOf(allocation.resource_class);
    if (claim.allocations.empty() || claim.allocations.back().provider != allocation.provider) {
      claim.allocations.push_back({allocation.provider, {}});
    }
    claim.allocations.back().amounts.push_back({name, allocation.amount});
  }
  const absl::StatusOr<Outcome> outcome = copy.Do(SetAllocations{{claim}, false});
  EXPECT_TRUE(outcome.ok()) << ToString(world.state(), Plain(world.state(), candidate)) << ": "
                            << outcome.status();  // P-203
}

// P-201: with collapse_equivalent, there is one candidate for each different set of allocations.
void ExpectOnePerAllocations(const State& state, const std::set<PlainCandidate>& found,
                             const std::set<PlainCandidate>& all) {
  std::set<decltype(PlainCandidate::allocations)> left;
  for (const PlainCandidate& candidate : all) left.insert(candidate.allocations);
  for (const PlainCandidate& candidate : found) {
    EXPECT_EQ(left.erase(candidate.allocations), 1u) << "twice " << ToString(state, candidate);
  }
  EXPECT_EQ(left.size(), 0u);  // P-201
}

void ExpectExact(const World& world, const CandidateRequest& request, const std::string& notation) {
  const State& state = world.state();
  const absl::StatusOr<SearchResult> found = FindCandidates(state, request, SearchBudget{});
  if (!found.ok()) {
    EXPECT_EQ(found.status().code(), absl::StatusCode::kInvalidArgument) << found.status();
    return;
  }
  std::set<PlainCandidate> plain;
  for (const Candidate& candidate : found->candidates) {
    EXPECT_TRUE(plain.insert(Plain(state, candidate)).second);  // P-200
  }
  EXPECT_FALSE(found->truncated);
  const std::set<PlainCandidate> expected = AllCandidates(state, request);
  if (request.collapse_equivalent) ExpectOnePerAllocations(state, plain, expected);
  for (const PlainCandidate& candidate : expected) {
    if (request.collapse_equivalent) break;
    EXPECT_TRUE(plain.contains(candidate)) << "missing " << ToString(state, candidate);  // P-204
  }
  for (const PlainCandidate& candidate : plain) {
    EXPECT_TRUE(expected.contains(candidate)) << "extra " << ToString(state, candidate);  // P-204
  }
  if (testing::Test::HasFailure()) ADD_FAILURE() << notation;
}

CandidateOrder RandomOrder(Dice& dice) {
  CandidateOrder order;
  order.strategy = static_cast<Strategy>(dice.Roll(4));
  order.seed = static_cast<uint64_t>(dice.Roll(1000));
  if (dice.Chance(30)) order.class_weights.push_back({dice.Pick(Classes()), 1.0 * dice.Roll(9)});
  while (dice.Chance(40)) {
    order.trait_weights.push_back({dice.Pick(Traits()), dice.Roll(40) / 8.0 - 2.5});
  }
  return order;
}

// An order changes only the sequence of the candidates, and a limit keeps the first ones. If
// candidates with equal allocations count as one (P-201), the order decides which of them is kept.
void ExpectOrdered(Dice& dice, const World& world, CandidateRequest request) {
  const auto plain = FindCandidates(world.state(), request, SearchBudget{});
  request.order = RandomOrder(dice);
  const auto ordered = FindCandidates(world.state(), request, SearchBudget{});
  ASSERT_EQ(plain.status(), ordered.status());
  if (!plain.ok()) return;
  const auto texts = [&](const SearchResult& result) {
    std::vector<std::string> all;
    for (const Candidate& each : result.candidates) {
      all.push_back(ToString(world.state(), Plain(world.state(), each)));
    }
    return all;
  };
  std::vector<std::string> expected = texts(*plain);
  std::vector<std::string> found = texts(*ordered);
  if (!found.empty()) {
    const int limit = 1 + dice.Roll(static_cast<int>(found.size()));
    request.limit = limit;
    const auto limited = FindCandidates(world.state(), request, SearchBudget{});
    EXPECT_EQ(texts(*limited), std::vector<std::string>(found.begin(), found.begin() + limit));
  }
  for (std::vector<std::string>* const all : {&expected, &found}) {
    for (std::string& text : *all) {
      if (request.collapse_equivalent) text.resize(text.find(" |"));
    }
    std::sort(all->begin(), all->end());
  }
  EXPECT_EQ(expected, found);
}

struct Kind {
  bool sharing = false;
  bool suffixed = false;
};

class SearchProperty : public testing::TestWithParam<Kind> {};

TEST_P(SearchProperty, EqualsTryingEverything) {
  const uint64_t first = NumberFrom("BERTH_SEED", std::random_device()());
  const uint64_t rounds = NumberFrom("BERTH_ROUNDS", 25'000);
  std::printf("BERTH_SEED=%llu\n", static_cast<unsigned long long>(first));
  int found = 0;
  for (uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed, " BERTH_ROUNDS=1"));
    Dice dice(seed);
    RandomWorld random(dice, GetParam().sharing);
    const World& world = random.world;
    for (int i = 0; i < 3; ++i) {
      const CandidateRequest request = RandomRequest(dice, random, GetParam().suffixed);
      ExpectExact(world, request, random.notation);
      ExpectOrdered(dice, world, request);
      const auto result = FindCandidates(world.state(), request, SearchBudget{});
      if (!result.ok() || result->candidates.empty()) continue;
      ++found;
      ExpectClaimable(world, dice.Pick(result->candidates));
    }
  }
  std::printf("%d requests of %llu found something\n", found,
              static_cast<unsigned long long>(3 * rounds));
}

INSTANTIATE_TEST_SUITE_P(Worlds, SearchProperty,
                         testing::Values(Kind{false, false}, Kind{true, false}, Kind{false, true},
                                         Kind{true, true}),
                         [](const auto& info) {
                           return absl::StrCat(info.param.suffixed ? "Suffixed" : "Unsuffixed",
                                               info.param.sharing ? "WithSharing" : "");
                         });

}  // namespace
}  // namespace berth::placement
