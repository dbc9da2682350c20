// The checker itself: legal histories pass, and one wrong thing is found.
//
// BERTH_ROUNDS says how many histories are tried (default 300).
#include "tests/history/checker/checker.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/history/faults/random_history.h"
#include "tests/worlds/seed.h"

namespace berth::history {
namespace {

int Rounds() {
  const char* rounds = std::getenv("BERTH_ROUNDS");
  return rounds == nullptr ? 300 : std::atoi(rounds);
}

bool FoundBy(const Findings& findings, int rule) {
  for (const Finding& finding : findings.all()) {
    if (finding.rule == rule) return true;
  }
  return false;
}

TEST(Checker, FindsNothingInLegalHistories) {
  const uint64_t seed = placement::Seed();
  for (int round = 0; round < Rounds(); ++round) {
    const Findings findings = Check(RandomHistory(seed + static_cast<uint64_t>(round)));
    ASSERT_TRUE(findings.empty()) << "history " << seed + static_cast<uint64_t>(round) << "\n"
                                  << findings.ToString();
  }
}

TEST(Checker, FindsEveryKindOfFault) {
  const uint64_t seed = placement::Seed();
  for (const Fault& fault : Faults()) {
    int spoiled = 0;
    for (int round = 0; round < Rounds() / 6; ++round) {
      std::mt19937_64 random(seed + static_cast<uint64_t>(round));
      History history = RandomHistory(seed + static_cast<uint64_t>(round));
      if (!fault.spoil(random, &history)) continue;
      ++spoiled;
      const Findings findings = Check(history);
      ASSERT_TRUE(FoundBy(findings, fault.rule))
          << fault.name << ", history " << seed + static_cast<uint64_t>(round) << "\n"
          << findings.ToString();
    }
    EXPECT_GT(spoiled, 0) << fault.name;
  }
}

TEST(Checker, ShowsTheCommandsAroundAFault) {
  std::mt19937_64 random(1);
  History history = RandomHistory(1);
  --history.story.uses[history.story.uses.size() / 2].allocation_generation;
  const std::string text = Check(history).ToString();
  EXPECT_NE(text.find("rule 1: left providers at revision"), std::string::npos) << text;
  EXPECT_NE(text.find("    step "), std::string::npos) << text;
}

}  // namespace
}  // namespace berth::history
