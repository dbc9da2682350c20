// Random records, which callers and trackers move through states, moves, contexts, ends and
// restarts. After each step the ledger's rule of owners and the accounts of the trackers count the
// same. BERTH_SEED repeats a run; BERTH_STEPS sets the number of steps.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/counted/record_life.h"
#include "tests/worlds/seed.h"

namespace berth::counted {
namespace {

constexpr int kStepsOfALife = 250;

TEST(WhatCounts, LedgerAndAccountsAgreeAfterEachStep) {
  const uint64_t first = placement::Seed();
  const char* const given = std::getenv("BERTH_STEPS");
  const int steps = given != nullptr ? std::atoi(given) : kSanitized ? 500 : 10000;
  std::map<std::string, int> done;
  int lone_writes = 0;
  for (int step = 0; step < steps;) {
    const uint64_t seed = first + static_cast<uint64_t>(step / kStepsOfALife);
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed, " BERTH_STEPS=", kStepsOfALife));
    RecordLife life(seed);
    std::string story;
    do {
      const std::string what = life.Step();
      ++done[what];
      absl::StrAppend(&story, what, "\n");
      life.Compare();
      ASSERT_FALSE(testing::Test::HasFailure()) << story;
    } while (++step % kStepsOfALife != 0 && step < steps);
    lone_writes += life.lone_writes();
  }
  if (steps < 5000) return;
  // The test does what it says.
  for (const char* what :
       {"put an instance", "resume", "delete an instance", "begin a move", "change a move",
        "arrive", "end a move", "claim an instance", "claim a move", "a tracker ends a move",
        "a tracker sets an instance", "restart"}) {
    EXPECT_GT(done[what], 0) << what;
  }
  EXPECT_GT(lone_writes, 0);
}

}  // namespace
}  // namespace berth::counted
