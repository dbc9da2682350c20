// How many more times a request fits: calculated by hand, and compared with claiming until refused.
#include "placement/explain/headroom.h"

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/brute_force.h"
#include "tests/worlds/random_requests.h"
#include "tests/worlds/request_notation.h"

namespace berth::placement {
namespace {

Headroom Count(const State& state, const CandidateRequest& request, int roots_max = 100) {
  absl::StatusOr<Headroom> headroom = CountHeadroom(state, request, roots_max, SearchBudget{});
  EXPECT_TRUE(headroom.ok()) << headroom.status();
  return headroom.ok() ? *std::move(headroom) : Headroom{};
}

TEST(Headroom, OfFlatHosts) {
  World world(R"(
    cn1{VCPU:8 ratio 2 used 3, MEMORY_MB:64}
    cn2{VCPU:8, MEMORY_MB:17}
    cn3{VCPU:8 max 1, MEMORY_MB:64}
    cn4{VCPU:1, MEMORY_MB:64}
  )");
  const Headroom headroom = Count(world.state(), ParseRequest(world, "r VCPU:2,MEMORY_MB:8"));
  EXPECT_EQ(headroom.total_count, 8);
  EXPECT_EQ(headroom.root_count, 2);
  ASSERT_EQ(headroom.roots.size(), 2u);
  EXPECT_EQ(headroom.roots[0].root, world.provider("cn1"));  // most first
  EXPECT_EQ(headroom.roots[0].count, 6);                     // of 13 VCPU
  EXPECT_EQ(headroom.roots[1].count, 2);
  EXPECT_EQ(Count(world.state(), ParseRequest(world, "r VCPU:1"), 1).roots.size(), 1u);
  EXPECT_EQ(Count(world.state(), ParseRequest(world, "r VCPU:1"), 1).root_count, 4);
  EXPECT_EQ(Count(world.state(), ParseRequest(world, "r VCPU:99")).total_count, 0);
}

TEST(Headroom, OfSharedProvidersCountsOnceInAll) {
  World world(R"(
    cn1{VCPU:4}(A)
    cn2{VCPU:4}(A)
    pool[MISC_SHARES_VIA_AGGREGATE]{DISK_GB:50}(A)
  )");
  const Headroom headroom = Count(world.state(), ParseRequest(world, "r VCPU:1,DISK_GB:10"));
  EXPECT_EQ(headroom.total_count, 5);
  ASSERT_EQ(headroom.roots.size(), 2u);
  EXPECT_EQ(headroom.roots[0].count, 4);
  EXPECT_EQ(headroom.roots[1].count, 4);
}

TEST(Headroom, BudgetEnds) {
  World world("cn1{VCPU:8}\ncn2{VCPU:8}");
  SearchBudget budget;
  budget.steps_max = 1;
  const CandidateRequest request = ParseRequest(world, "r VCPU:1");
  const absl::Status status = CountHeadroom(world.state(), request, 10, budget).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(RefusalOf(status)->reason, "SEARCH_BUDGET_EXCEEDED");
  budget.steps_max = 5;
  const absl::StatusOr<Headroom> headroom = CountHeadroom(world.state(), request, 10, budget);
  ASSERT_TRUE(headroom.ok()) << headroom.status();
  EXPECT_TRUE(headroom->truncated);
  EXPECT_EQ(headroom->total_count, 8);
}

// Claims the first candidate under `root` until there is none, and returns the number of claims.
int64_t ClaimAll(World& world, const CandidateRequest& request, ProviderId root) {
  BruteOptions options;
  options.first_only = true;
  options.only = root;
  for (int64_t count = 0;; ++count) {
    const CandidatesByRoot found = AllByRoot(world.state(), request, options);
    if (found.empty()) return count;
    ConsumerAllocations claim{world.consumer(absl::StrCat("claimant", count, root.ToString())),
                              std::nullopt,
                              "project",
                              "user",
                              "INSTANCE",
                              {}};
    for (const auto& [key, amount] : found.begin()->second.begin()->allocations) {
      claim.allocations.push_back({key.first, {{key.second, amount}}});
      const size_t size = claim.allocations.size();
      if (size < 2 || claim.allocations[size - 2].provider != key.first) continue;
      claim.allocations[size - 2].amounts.push_back({key.second, amount});
      claim.allocations.pop_back();
    }
    world.Must(SetAllocations{{claim}, false});
  }
}

class RoomProperty : public testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(RoomProperty, IsWhatClaimingUntilRefusedFinds) {
  const auto [sharing, suffixed] = GetParam();
  const uint64_t first = NumberFrom("BERTH_SEED", std::random_device()());
  const uint64_t rounds = NumberFrom("BERTH_ROUNDS", 300);
  std::printf("BERTH_SEED=%llu\n", static_cast<unsigned long long>(first));
  int64_t claims = 0;
  for (uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed, " BERTH_ROUNDS=1"));
    Dice dice(seed);
    RandomWorld random(dice, sharing);
    const World& world = random.world;
    const CandidateRequest request = RandomRequest(dice, random, suffixed);
    const auto headroom = CountHeadroom(world.state(), request, 100, SearchBudget{});
    if (!headroom.ok()) continue;  // malformed
    EXPECT_FALSE(headroom->truncated);
    // With a divided amount, another root may fit after a claim, and is not counted: how an amount
    // is divided depends on what is free.
    int64_t total = 0;
    World all = world;
    for (const auto& [root, unused] : AllByRoot(world.state(), request)) {
      total += ClaimAll(all, request, root);
    }
    EXPECT_EQ(headroom->total_count, total);
    claims += total;
    EXPECT_EQ(headroom->root_count, static_cast<int64_t>(headroom->roots.size()));
    EXPECT_EQ(headroom->roots.size(), AllByRoot(world.state(), request).size());
    for (const RootHeadroom& each : headroom->roots) {
      World alone = world;
      EXPECT_EQ(each.count, ClaimAll(alone, request, each.root));
    }
    if (HasFailure()) ADD_FAILURE() << random.notation;
  }
  std::printf("%lld claims\n", static_cast<long long>(claims));
}

INSTANTIATE_TEST_SUITE_P(Worlds, RoomProperty,
                         testing::Values(std::pair(false, false), std::pair(true, false),
                                         std::pair(false, true), std::pair(true, true)));

}  // namespace
}  // namespace berth::placement
