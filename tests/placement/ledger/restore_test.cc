// A database that is restored while no process runs: the next start compares it with the position
// that the process has kept in a file.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "placement/ledger/ledger.h"
#include "placement/values/refusal.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"
#include "tests/processes/restorable.h"

namespace berth::placement {
namespace {

class LedgerRestore : public ::testing::Test {
 protected:
  // Options of a process that keeps its position in the file `name`; empty: in none.
  LedgerOptions Options(const std::string& name = "position") const {
    LedgerOptions options = OptionsFor(database_.url());
    if (!name.empty()) options.position_path = directory_.path() + "/" + name;
    return options;
  }
  // Runs a process that claims for `count` consumers from `first` on. Returns its last position.
  Position Claims(const LedgerOptions& options, int first, int count) {
    LedgerRunner runner(options);
    if (runner.ledger().Newest()->provider_count() == 0) MakeProviders(runner, 1, 100, 1024);
    for (int i = first; i < first + count; ++i) runner.Must(Claim(i, {1}, 1));
    return runner.ledger().Newest()->position();
  }
  static EpochStart StartAt(Revision head) { return {"operator", "", "restored", head}; }
  static void ExpectLost(LedgerRunner& runner, Revision head) {
    const LedgerHealth health = runner.ledger().health();
    EXPECT_TRUE(health.recovery_required);
    EXPECT_FALSE(health.writable);
    EXPECT_EQ(health.database_revision, head);
    EXPECT_TRUE(absl::StrContains(runner.told(), "went back in time")) << runner.told();
    EXPECT_EQ(ReasonOf(runner.Do(Claim(99, {1}, 1))), "RECOVERY_REQUIRED");
    // The follower finds nothing wrong with what the tables say: that ends no recovery.
    ASSERT_TRUE(runner.ledger().Follow().ok());
    EXPECT_TRUE(runner.ledger().health().recovery_required);
    EXPECT_TRUE(runner.ledger().Fresh().ok());
  }

  Restorable database_;
  ScratchDirectory directory_;
};

TEST_F(LedgerRestore, ADatabaseBehindTheFileNeedsAnOperator) {
  const Position saved = Claims(Options(), 1, 2);
  database_.Save();
  const Position lost = Claims(Options(), 3, 3);
  database_.Restore();
  {
    LedgerRunner runner(Options());
    ExpectLost(runner, saved.revision);
  }
  // Also at the next start: the file keeps what was lost.
  LedgerRunner runner(Options());
  ExpectLost(runner, saved.revision);
  EXPECT_EQ(runner.ledger().StartEpoch(StartAt(lost.revision)).code(), absl::StatusCode::kAborted);
  ASSERT_EQ(runner.ledger().StartEpoch(StartAt(saved.revision)), absl::OkStatus());
  EXPECT_FALSE(runner.ledger().health().recovery_required);
  const Position begun = runner.ledger().Newest()->position();
  EXPECT_EQ(begun.revision, (Revision{lost.revision.epoch + 1, saved.revision.number + 1}));
  // Nothing of the lost future is met again.
  EXPECT_GE(begun.command_count, lost.command_count + (int64_t{1} << 40));
  EXPECT_GE(begun.next_class_id, lost.next_class_id + (1U << 20));
  runner.Must(Claim(3, {1}, 1));
  runner.KeepPosition();
  LedgerRunner next(Options());
  EXPECT_FALSE(next.ledger().health().recovery_required);
}

TEST_F(LedgerRestore, TheSameNumbersOfAnotherHistoryAreNotTaken) {
  Claims(Options(), 1, 2);
  database_.Save();
  const Position lost = Claims(Options(), 3, 3);
  database_.Restore();
  // A process without a file goes on from the backup and passes the number that was lost.
  const Position there = Claims(Options(""), 11, 5);
  ASSERT_GT(there.revision, lost.revision);
  LedgerRunner runner(Options());
  ExpectLost(runner, there.revision);
  ASSERT_EQ(runner.ledger().StartEpoch(StartAt(there.revision)), absl::OkStatus());
  EXPECT_EQ(runner.ledger().Newest()->consumers().size(), 7);
}

// A process without a file writes on, so an operator must be shown the newest revision.
TEST_F(LedgerRestore, WhatIsLostIsReadAgainWhenTheDatabaseHasMovedOn) {
  Claims(Options(), 1, 2);
  database_.Save();
  Claims(Options(), 3, 3);
  database_.Restore();
  LedgerRunner runner(Options());
  const auto known = [&] { return runner.ledger().KnownLoss(); };
  ASSERT_TRUE(known().ok()) << known().status();
  EXPECT_EQ(*known(), nullptr);  // nobody has looked yet
  const absl::StatusOr<LossPtr> first = runner.ledger().FindLoss();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*known(), *first);
  const Position there = Claims(Options(""), 11, 1);
  EXPECT_TRUE(LedgerRunner::Eventually([&] { return *known() == nullptr; }));
  EXPECT_TRUE(LedgerRunner::Eventually([&] {
    const absl::StatusOr<LossPtr> next = runner.ledger().FindLoss();
    return next.ok() && (*next)->database->position().revision == there.revision;
  }));
}

TEST_F(LedgerRestore, AnEpochThatWasBegunElsewhereIsTaken) {
  Claims(Options(), 1, 2);
  database_.Save();
  Claims(Options(), 3, 3);
  std::filesystem::copy(Options().position_path, Options("other").position_path);
  database_.Restore();
  LedgerRunner waiting(Options("other"));
  EXPECT_TRUE(waiting.ledger().health().recovery_required);
  LedgerRunner runner(Options());
  const Revision head = runner.ledger().Newest()->position().revision;
  ASSERT_EQ(runner.ledger().StartEpoch(StartAt(head)), absl::OkStatus());
  runner.Must(Claim(3, {1}, 1));
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return waiting.ledger().health().writable; }));
  waiting.Must(Claim(4, {1}, 1));
}

TEST_F(LedgerRestore, WithoutARestoreNothingIsWrong) {
  for (int run = 0; run < 3; ++run) Claims(Options(), 1 + 2 * run, 2);
  LedgerOptions options = Options();
  options.log_rows_kept = 1;  // the row that the file names may be deleted
  Claims(options, 21, 1);
  Claims(Options(""), 31, 20);
  LedgerRunner runner(options);
  EXPECT_FALSE(runner.ledger().health().recovery_required) << runner.told();
}

TEST_F(LedgerRestore, AFileThatCannotBeReadIsToldAndReplaced) {
  Claims(Options(), 1, 1);
  std::ofstream(Options().position_path) << "berth-position 1 1";
  LedgerRunner runner(Options());
  EXPECT_TRUE(absl::StrContains(runner.told(), Options().position_path)) << runner.told();
  runner.Must(Claim(2, {1}, 1));
  runner.KeepPosition();
  LedgerRunner next(Options());
  EXPECT_EQ(next.told(), "");
}

}  // namespace
}  // namespace berth::placement
