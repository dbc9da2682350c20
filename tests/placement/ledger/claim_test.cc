// Claims that find their own place, through ledgers: several in one batch, several processes, the
// same hosts.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "placement/claims/search.h"
#include "placement/ledger/ledger.h"
#include "placement/values/refusal.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"
#include "tests/worlds/safety.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

PlaceClaims ClaimOf(int consumer, Amount vcpu, Strategy strategy = Strategy::kFirst) {
  PlaceClaims claims;
  claims.one = true;
  ClaimMember& member = claims.members.emplace_back();
  member.consumer = ConsumerNumber(consumer);
  member.project = "project";
  member.user = "user";
  member.type = "INSTANCE";
  member.query.groups.emplace_back().resources.push_back({"VCPU", vcpu});
  claims.order.strategy = strategy;
  claims.order.seed = static_cast<uint64_t>(consumer);
  return claims;
}

// As a worker does it: over what this process has published.
PlaceClaims Chosen(LedgerRunner& runner, PlaceClaims claims) {
  EXPECT_EQ(FindChoices(*runner.ledger().Newest(), {}, &claims), absl::OkStatus());
  return claims;
}

TEST(LedgerClaim, TwoOfOneBatchTakeDifferentHosts) {
  std::atomic<bool> hold{false};
  std::atomic<bool> held{false};
  LedgerOptions options = OptionsFor(NewDatabase());
  options.at_step = [&](LedgerStep step) {
    if (step != LedgerStep::kBeforeLock) return;
    held = hold.load();
    while (hold) std::this_thread::yield();
  };
  LedgerRunner runner(options);
  MakeProviders(runner, 3, 1, 1024);
  // Both were searched over one state and want the same host first.
  const PlaceClaims first = Chosen(runner, ClaimOf(1, 1));
  const PlaceClaims second = Chosen(runner, ClaimOf(2, 1));
  EXPECT_EQ(first.choices[0][0].candidate.root, second.choices[0][0].candidate.root);
  hold = true;
  auto stopper = runner.Begin(WithId(EnsureTrait{"CUSTOM_HOLD"}, ""));
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return held.load(); }));
  auto one = runner.Begin(WithId(first, "one"));
  auto two = runner.Begin(WithId(second, "two"));
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return runner.ledger().health().queue_length == 2; }));
  hold = false;
  stopper.get();
  const Decision a = one.get();
  const Decision b = two.get();
  ASSERT_EQ(a.status, absl::OkStatus());
  ASSERT_EQ(b.status, absl::OkStatus());
  EXPECT_EQ(a.revision, b.revision);
  EXPECT_EQ(a.result.candidates[0].root, ProviderNumber(1));
  EXPECT_EQ(b.result.candidates[0].root, ProviderNumber(2));
  // The same request id brings the same answer, whatever the search says today.
  const Decision again = runner.Do(WithId(Chosen(runner, ClaimOf(1, 1, Strategy::kRandom)), "one"));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.revision, a.revision);
  EXPECT_EQ(again.result.candidates[0].root, a.result.candidates[0].root);
  EXPECT_EQ(again.result.candidates[0].allocations, a.result.candidates[0].allocations);
  EXPECT_EQ(again.result.candidates[0].mappings, a.result.candidates[0].mappings);
  EXPECT_EQ(again.result.consumers, a.result.consumers);
}

// Hundreds of claims for the emptiest or the fullest host, all searched over one state and decided
// in one batch: each sees those before it. All hosts are among the choices of each claim.
TEST(LedgerClaim, ManyOfOneBatchSeeEachOther) {
  constexpr int kHosts = kChoicesOfOne;
  constexpr int kClaims = 200;
  constexpr int kUnits = 20;
  for (const Strategy strategy : {Strategy::kSpread, Strategy::kPack}) {
    std::atomic<bool> hold{false};
    std::atomic<bool> held{false};
    LedgerOptions options = OptionsFor(NewDatabase());
    options.roads = LedgerRoads::kLong;  // its batch takes all that came before it has the lock
    options.at_step = [&](LedgerStep step) {
      if (step != LedgerStep::kBeforeLock) return;
      held = hold.load();
      while (hold) std::this_thread::yield();
    };
    LedgerRunner runner(options);
    MakeProviders(runner, kHosts, kUnits, 1024);
    std::vector<PlaceClaims> chosen;
    for (int i = 1; i <= kClaims; ++i) chosen.push_back(Chosen(runner, ClaimOf(i, 1, strategy)));
    hold = true;
    auto stopper = runner.Begin(WithId(EnsureTrait{"CUSTOM_HOLD"}, ""));
    ASSERT_TRUE(LedgerRunner::Eventually([&] { return held.load(); }));
    std::vector<std::future<Decision>> claims;
    for (PlaceClaims& each : chosen) claims.push_back(runner.Begin(WithId(std::move(each), "")));
    hold = false;
    stopper.get();
    std::map<ProviderId, int> taken;
    std::set<int64_t> revisions;
    for (std::future<Decision>& claim : claims) {
      const Decision decision = claim.get();
      ASSERT_EQ(decision.status, absl::OkStatus());
      ++taken[decision.result.candidates[0].root];
      revisions.insert(decision.revision.number);
    }
    EXPECT_EQ(revisions.size(), 1u);
    const bool spread = strategy == Strategy::kSpread;
    EXPECT_EQ(taken.size(), static_cast<size_t>(spread ? kHosts : kClaims / kUnits));
    for (const auto& [root, times] : taken) {
      EXPECT_GE(times, spread ? kClaims / kHosts : kUnits);
      EXPECT_LE(times, spread ? kClaims / kHosts + 1 : kUnits);
    }
  }
}

constexpr int kHosts = 6;
constexpr Amount kEach = 7;
constexpr int kClientsEach = 3;
constexpr int kClaimsEach = 15;  // more than there is room for, all clients together

// Everybody claims one unit after the other, over a state that may be old.
TEST(LedgerClaim, TwoProcessesFillTheLastHostsExactly) {
  const uint64_t seed = Seed();
  const std::string url = NewDatabase();
  LedgerRunner one(OptionsFor(url));
  MakeProviders(one, kHosts, kEach, 1024);
  LedgerRunner two(OptionsFor(url));
  std::atomic<int> taken{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int client = 0; client < 2 * kClientsEach; ++client) {
    threads.emplace_back([&, client] {
      LedgerRunner& runner = client % 2 == 0 ? one : two;
      std::mt19937_64 random(seed + static_cast<uint64_t>(client));
      for (int i = 0; i < kClaimsEach; ++i) {
        const auto strategy = static_cast<Strategy>(random() % 4);
        PlaceClaims claim = Chosen(runner, ClaimOf(1000 * (client + 1) + i, 1, strategy));
        const Decision decision = runner.Do(claim);
        if (decision.status.ok()) {
          ++taken;
        } else {
          EXPECT_EQ(RefusalOf(decision.status)->reason, "NO_CANDIDATE") << decision.status;
          ++refused;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Nothing is released, so a refusal while room remained would leave some of it.
  EXPECT_EQ(taken, kHosts * kEach);
  EXPECT_EQ(refused, 2 * kClientsEach * kClaimsEach - kHosts * kEach);
  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    return one.ledger().Newest()->position().revision == two.ledger().Newest()->position().revision;
  }));
  CheckSafety(*one.ledger().Newest());
  ExpectEqualStates(*one.ledger().Newest(), *two.ledger().Newest());
  for (int host = 1; host <= kHosts; ++host) {
    EXPECT_EQ(one.ledger().Newest()->FindProvider(ProviderNumber(host))->used(0), kEach);
  }
  ExpectCleanSelfCheck(one, url);
}

}  // namespace
}  // namespace berth::placement
