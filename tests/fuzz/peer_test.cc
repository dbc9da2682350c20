// Random scripts of peers, without a fuzzer's help: a short run in the daily tests.
#include <cstdio>
#include <random>

#include "gtest/gtest.h"
#include "tests/fuzz/peer_mutator.h"
#include "tests/fuzz/peer_runner.h"
#include "tests/worlds/seed.h"

namespace berth::fuzz {
namespace {

constexpr int kScripts = kSanitized ? 300 : 2'000;
constexpr int kMutationsMax = 12;

TEST(PeerScript, TheValidOneIsGranted) {
  const PeerOutcome outcome = RunPeerScript(ValidPeerScript());
  EXPECT_EQ(outcome.ended, 0);
  EXPECT_GE(outcome.granted, 7);
  EXPECT_GE(outcome.applied, 6);
}

TEST(PeerScript, NoPeerDoesHarm) {
  const uint64_t seed = placement::Seed();
  SCOPED_TRACE(testing::Message() << "BERTH_SEED=" << seed);
  std::mt19937 random(seed);
  PeerOutcome total;
  for (int i = 0; i < kScripts && !HasFailure(); ++i) {
    PeerScript script = ValidPeerScript();
    const size_t mutations = random() % kMutationsMax;
    for (size_t m = 0; m < mutations; ++m) Mutate(&script, random);
    const PeerOutcome outcome = RunPeerScript(script);
    if (HasFailure()) ADD_FAILURE() << script.DebugString();
    total.granted += outcome.granted;
    total.refused += outcome.refused;
    total.applied += outcome.applied;
    total.ended += outcome.ended;
  }
  std::printf("%d granted, %d refused, %d applied, %d sessions ended\n", total.granted,
              total.refused, total.applied, total.ended);
  // The scripts get somewhere.
  EXPECT_GT(total.granted, kScripts);
  EXPECT_GT(total.refused, kScripts / 2);
  EXPECT_GT(total.applied, kScripts);
  EXPECT_GT(total.ended, 0);
}

}  // namespace
}  // namespace berth::fuzz
