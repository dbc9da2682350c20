#include "placement/values/migration_status.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace berth::placement {
namespace {

using Words = std::set<std::string>;

Words WordsOf(MigrationStanding standing) {
  Words words;
  for (const MigrationStatus& status : MigrationStatuses()) {
    if (status.standing == standing) words.emplace(status.word);
  }
  return words;
}

TEST(MigrationStatus, TheWordsForOverAreThese) {
  Words over = WordsOf(MigrationStanding::kOver);
  EXPECT_TRUE(over.contains("done"));       // T-124
  EXPECT_FALSE(over.contains("accepted"));  // T-124
  EXPECT_FALSE(over.contains("finished"));  // T-125
  EXPECT_EQ(WordsOf(MigrationStanding::kLeftover), Words{"error"});
  over.insert("error");
  EXPECT_EQ(over, (Words{"confirmed", "reverted", "error", "failed", "completed", "cancelled",
                         "done"}));  // T-123
}

TEST(MigrationStatus, AnErrorIsOverButHoldsResources) {
  EXPECT_FALSE(IsInProgress("error"));   // T-123
  EXPECT_TRUE(HoldsResources("error"));  // T-123
  EXPECT_FALSE(HoldsResources("done"));  // T-124
  EXPECT_TRUE(HoldsResources("accepted"));
}

TEST(MigrationStatus, EveryWordOfTheLifeCyclesIsKnownOnce) {
  Words words;
  for (const MigrationStatus& status : MigrationStatuses()) {
    EXPECT_TRUE(words.emplace(status.word).second) << status.word;
  }
  EXPECT_EQ(words, (Words{"accepted", "queued", "preparing", "running", "running (post-copy)",
                          "completed", "failed", "error", "cancelled", "pre-migrating", "migrating",
                          "post-migrating", "finished", "confirming", "confirmed", "reverting",
                          "reverted", "done"}));  // T-126
}

TEST(MigrationStatus, AnUnknownWordIsInProgress) {
  for (const char* word : {"", "Done", "done ", "no such word"}) {
    EXPECT_TRUE(IsInProgress(word)) << word;    // T-125
    EXPECT_TRUE(HoldsResources(word)) << word;  // T-125
  }
}

}  // namespace
}  // namespace berth::placement
