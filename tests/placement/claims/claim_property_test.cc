// Random small worlds, nested and with sharing providers, and claims that find their own place in
// them: each takes what trying everything would take, and none is refused where trying everything
// finds room. BERTH_SEED repeats a run, BERTH_ROUNDS lengthens it.
#include <cstdio>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/search/search.h"
#include "tests/worlds/brute_force.h"
#include "tests/worlds/claim_notation.h"
#include "tests/worlds/random_requests.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

using Places = std::vector<std::pair<ProviderId, PlainCandidate>>;  // roots and what they give

void Hold(World& world, const ClaimMember& member, const PlainCandidate& candidate) {
  ConsumerAllocations wanted{member.consumer, std::nullopt, "project", "user", "INSTANCE", {}};
  for (const auto& [key, amount] : candidate.allocations) {
    if (wanted.allocations.empty() || wanted.allocations.back().provider != key.first) {
      wanted.allocations.push_back({key.first, {}});
    }
    wanted.allocations.back().amounts.push_back({key.second, amount});
  }
  world.Must(SetAllocations{{wanted}, false});
}

// The first place of each member over what those before it left, by trying everything. None: one of
// them has no place.
std::optional<Places> PlaceEach(World world, const PlaceClaims& claims,
                                std::optional<ProviderId> only) {
  Places places;
  for (const ClaimMember& member : claims.members) {
    BruteOptions options;
    options.first_only = true;
    options.only = only;
    CandidatesByRoot all = AllByRoot(world.state(), member.query, options);
    if (claims.affinity == MemberAffinity::kDifferentRoots) {
      for (const auto& [root, candidate] : places) all.erase(root);
    }
    if (all.empty()) return std::nullopt;
    places.push_back({all.begin()->first, *all.begin()->second.begin()});
    Hold(world, member, places.back().second);
  }
  return places;
}

std::optional<Places> PlaceAll(World world, const PlaceClaims& claims) {
  for (const ClaimMember& member : claims.members) {
    if (member.expected_generation) world.Must(DeleteAllocations{member.consumer, std::nullopt});
  }
  if (claims.affinity != MemberAffinity::kSameRoot) return PlaceEach(world, claims, std::nullopt);
  for (const auto& [root, candidates] : AllByRoot(world.state(), claims.members[0].query)) {
    if (auto places = PlaceEach(world, claims, root)) return places;
  }
  return std::nullopt;
}

PlaceClaims RandomClaims(Dice& dice, RandomWorld& random, bool suffixed) {
  PlaceClaims claims;
  const int first = dice.Roll(4);
  const int count = 1 + (dice.Chance(60) ? dice.Roll(3) : 0);
  for (int m = 0; m < count; ++m) {
    claims.members.push_back(
        Member(random.world, absl::StrCat("claimant", (first + m) % 4), "r VCPU:1"));
    claims.members.back().query = RandomRequest(dice, random, suffixed);
    claims.members.back().query.collapse_equivalent = false;  // none of a claim's
  }
  claims.affinity = static_cast<MemberAffinity>(dice.Roll(3));
  claims.order.strategy = dice.Chance(50) ? Strategy::kFirst : static_cast<Strategy>(dice.Roll(4));
  claims.order.seed = static_cast<uint64_t>(dice.Roll(1000));
  while (claims.order.strategy != Strategy::kFirst && dice.Chance(30)) {
    claims.order.trait_weights.push_back({dice.Pick(Traits()), dice.Roll(40) / 8.0 - 2.5});
  }
  return claims;
}

void ExpectAffinity(const PlaceClaims& claims, const std::vector<Candidate>& taken) {
  std::set<ProviderId> roots;
  for (const Candidate& candidate : taken) roots.insert(candidate.root);
  if (claims.affinity == MemberAffinity::kSameRoot) {
    EXPECT_EQ(roots.size(), 1u);
  } else if (claims.affinity == MemberAffinity::kDifferentRoots) {
    EXPECT_EQ(roots.size(), taken.size());
  }
}

// Whether the claims were granted.
bool ExpectAsExpected(World& world, const PlaceClaims& claims) {
  const State before = world.state();
  const std::optional<Places> expected = PlaceAll(world, claims);
  const absl::StatusOr<Outcome> outcome = world.Do(claims);  // checks P-4
  if (!outcome.ok()) {
    EXPECT_EQ(ReasonOf(outcome.status()), "NO_CANDIDATE") << outcome.status();
  } else {
    ExpectAffinity(claims, outcome->result.candidates);
  }
  // Any other order may lead several members elsewhere.
  const bool is_first = claims.order.strategy == Strategy::kFirst;
  if (!is_first && claims.members.size() > 1) return outcome.ok();
  EXPECT_EQ(outcome.ok(), expected.has_value()) << outcome.status();
  if (!is_first || !outcome.ok() || !expected) return outcome.ok();
  for (size_t m = 0; m < claims.members.size(); ++m) {
    const Candidate& taken = outcome->result.candidates[m];
    EXPECT_EQ(taken.root, (*expected)[m].first) << "member " << m;
    EXPECT_EQ(ToString(before, Plain(before, taken)), ToString(before, (*expected)[m].second));
  }
  return true;
}

class ClaimProperty : public testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(ClaimProperty, TakesWhatTryingEverythingTakes) {
  const auto [sharing, suffixed] = GetParam();
  const uint64_t first = NumberFrom("BERTH_SEED", std::random_device()());
  const uint64_t rounds = NumberFrom("BERTH_ROUNDS", 3'000);
  std::printf("BERTH_SEED=%llu\n", static_cast<unsigned long long>(first));
  int granted = 0;
  int refused = 0;
  for (uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed, " BERTH_ROUNDS=1"));
    Dice dice(seed);
    RandomWorld random(dice, sharing);
    for (int i = 0; i < 4 && !HasFailure(); ++i) {
      PlaceClaims claims = RandomClaims(dice, random, suffixed);
      if (!FindChoices(random.world.state(), {}, &claims).ok()) continue;  // malformed
      if (dice.Chance(50)) claims.choices.clear();
      ++(ExpectAsExpected(random.world, claims) ? granted : refused);
      if (HasFailure()) ADD_FAILURE() << random.notation << random.world.Text();
    }
  }
  std::printf("%d granted, %d refused\n", granted, refused);
  EXPECT_GT(granted, 0);
}

INSTANTIATE_TEST_SUITE_P(Worlds, ClaimProperty,
                         testing::Values(std::pair(false, false), std::pair(true, false),
                                         std::pair(false, true), std::pair(true, true)),
                         [](const auto& info) {
                           return absl::StrCat(info.param.second ? "Suffixed" : "Unsuffixed",
                                               info.param.first ? "WithSharing" : "");
                         });

}  // namespace
}  // namespace berth::placement
