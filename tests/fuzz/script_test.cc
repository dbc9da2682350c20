// Random scripts, without a fuzzer's help: a short run in the daily tests.
#include <cstdio>
#include <random>

#include "gtest/gtest.h"
#include "tests/fuzz/script_mutator.h"
#include "tests/fuzz/script_runner.h"
#include "tests/worlds/seed.h"

namespace berth::fuzz {
namespace {

constexpr int kScripts = kSanitized ? 1'000 : 3'000;
constexpr int kMutationsMax = 60;

TEST(Script, TheValidOneIsGranted) {
  const ScriptOutcome outcome = RunScript(ValidScript());
  EXPECT_EQ(outcome.refused, 0);
  EXPECT_GE(outcome.applied, 6);
  EXPECT_GE(outcome.candidates, 3);
}

TEST(Script, NoSenderDoesHarm) {
  const uint64_t seed = placement::Seed();
  SCOPED_TRACE(testing::Message() << "BERTH_SEED=" << seed);
  std::mt19937 random(seed);
  ScriptOutcome total;
  for (int i = 0; i < kScripts && !HasFailure(); ++i) {
    Script script = ValidScript();
    const size_t mutations = random() % kMutationsMax;
    for (size_t m = 0; m < mutations; ++m) Mutate(&script, random);
    const ScriptOutcome outcome = RunScript(script);
    if (HasFailure()) ADD_FAILURE() << script.DebugString();
    total.applied += outcome.applied;
    total.refused += outcome.refused;
    total.candidates += outcome.candidates;
    total.claimed += outcome.claimed;
  }
  std::printf("%d applied, %d refused, %d candidates, %d claimed\n", total.applied, total.refused,
              total.candidates, total.claimed);
  // The scripts get somewhere.
  EXPECT_GT(total.applied, kScripts / 10);
  EXPECT_GT(total.refused, kScripts);
  EXPECT_GT(total.candidates, kScripts / 100);
  EXPECT_GT(total.claimed, 0);
}

}  // namespace
}  // namespace berth::fuzz
