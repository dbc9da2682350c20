// What becomes of commands when their batch has ended, without a road that has
// brought it there.

#include "placement/writer/batch_ends.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "placement/publish/catch_up.h"
#include "placement/store/rows.h"
#include "tests/placement/writer/made_parts.h"

namespace berth::placement {
namespace {

class BatchEndsTest : public ::testing::Test, protected MadeParts {
 protected:
  // A batch with claims of consumers 1 to `claims`, which is not written. The
  // second one has a request id.
  std::unique_ptr<Batch> Claims(int claims) {
    for (int i = 1; i <= claims; ++i) {
      answers_.push_back(Push(WithId(Claim(i, {1}, 1), i == 2 ? "two" : "")));
    }
    return Decide(TakeShared());
  }
  // Loses `batch`; then connects again.
  void Lose(std::unique_ptr<Batch> batch) {
    ends_.Lost(std::move(batch), absl::UnavailableError("cut"));
    EXPECT_FALSE(connection.is_open());
    ASSERT_TRUE(connection.Open());
    EXPECT_EQ(turns.Begin(true), Turn::kSettle);
  }
  // Settles what was lost, up to the commit of the settling batch.
  std::unique_ptr<Batch> Settle() {
    const StatePtr base = publisher.Newest();
    auto batch =
        std::make_unique<Batch>(base, clock.Now(base->position()), std::vector<KeptRequest>());
    EXPECT_TRUE(ends_.Settle(*batch));
    return batch;
  }
  void CommitAndAnswer(Batch &batch) {
    Commit(batch);
    ends_.Publish(batch, options.boot_clock());
    ends_.AnswerCommitted(batch);
  }
  bool NoneAnswered() const { return std::none_of(answers_.begin(), answers_.end(), Answered); }

  BatchEnds ends_{parts()};
  std::vector<std::future<Decision>> answers_;
};

TEST_F(BatchEndsTest, ACommittedBatchIsPublishedAndThenAnswered) {
  const std::unique_ptr<Batch> batch = Claims(1);
  Commit(*batch);
  EXPECT_NE(publisher.Newest(), batch->next());
  ends_.Publish(*batch, options.boot_clock());
  EXPECT_EQ(publisher.Newest(), batch->next());
  EXPECT_EQ(publisher.committing(), BatchId());
  EXPECT_EQ(ends_.committed(), batch->id());
  EXPECT_TRUE(NoneAnswered());
  ends_.AnswerCommitted(*batch);
  EXPECT_EQ(Get(answers_[0]).status, absl::OkStatus());
}

TEST_F(BatchEndsTest, FollowersOfTheFeedAreWokenAfterTheAnswers) {
  const std::unique_ptr<Batch> batch = Claims(1);
  Commit(*batch);
  int woken = 0;
  publisher.feed().Subscribe([&] {
    ++woken;
    EXPECT_TRUE(Answered(answers_[0]));
    EXPECT_EQ(publisher.Newest(), batch->next());
  });
  ends_.Publish(*batch, options.boot_clock());
  EXPECT_EQ(woken, 0);
  ends_.AnswerCommitted(*batch);
  EXPECT_EQ(woken, 1);
}

TEST_F(BatchEndsTest, ALostBatchThatTheLogHasIsAnsweredAfterALaterCommit) {
  std::unique_ptr<Batch> batch = Claims(1);
  Commit(*batch);
  publisher.EndCommit(batch->id());
  const Revision revision = batch->next()->position().revision;
  Lose(std::move(batch));
  ASSERT_TRUE(CatchUp(connection.database(), publisher, 100).ok());
  const std::unique_ptr<Batch> later = Settle();
  EXPECT_TRUE(NoneAnswered());
  CommitAndAnswer(*later);
  ASSERT_TRUE(Answered(answers_[0]));
  const Decision decision = Get(answers_[0]);
  EXPECT_EQ(decision.status, absl::OkStatus());
  EXPECT_EQ(decision.revision, revision);
  EXPECT_TRUE(turns.settled());
}

TEST_F(BatchEndsTest, ALostBatchThatTheLogLacksIsDecidedAgainAfterALaterCommit) {
  std::unique_ptr<Batch> batch = Claims(2);
  batch->Prepare(options.log_rows_kept);
  Lose(std::move(batch));
  CommitAndAnswer(*Settle());
  EXPECT_TRUE(NoneAnswered());
  EXPECT_EQ(queue.size(), 0);
  EXPECT_EQ(turns.GiveUpWaiting().size(), 2U);  // each waits to be decided alone
}

TEST_F(BatchEndsTest, WhatTheLogForgotStaysUnknownWithoutARequestId) {
  std::unique_ptr<Batch> batch = Claims(2);
  batch->Prepare(options.log_rows_kept);
  const int64_t revision = batch->next()->position().revision.number;
  Lose(std::move(batch));
  {
    LedgerRunner other(OptionsFor(url));
    for (int i = 11; i <= 13; ++i) other.Must(Claim(i, {1}, 1));
  }
  ASSERT_EQ(
      ConnectOrDie(url)->Run(absl::StrCat("DELETE FROM log WHERE revision <= ", revision), nullptr),
      absl::OkStatus());
  ends_.Reload();
  EXPECT_EQ(publisher.Newest()->position().revision.number, revision + 2);
  CommitAndAnswer(*Settle());
  EXPECT_EQ(Get(answers_[0]).status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(Answered(answers_[1]));
  // Before it is decided again, nobody may say that nothing was done.
  intake.RefuseAll(NotDone("no"));
  EXPECT_EQ(Get(answers_[1]).status.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(BatchEndsTest, ABatchThatWasNotWrittenGoesBackToTheQueue) {
  const std::unique_ptr<Batch> batch = Claims(2);
  ends_.NotWritten(absl::OkStatus(), *batch);
  EXPECT_TRUE(NoneAnswered());
  EXPECT_TRUE(turns.settled());
  EXPECT_EQ(roads.Next(true, false), Road::kLong);
  EXPECT_FALSE(roads.MayFillUp());
  const std::vector<PendingPtr> again = TakeShared();
  ASSERT_EQ(again.size(), 2U);
  for (const PendingPtr &pending : again) EXPECT_EQ(pending->phase, Pending::Phase::kWaiting);
}

TEST_F(BatchEndsTest, EachCommandOfARefusedBatchIsDecidedAlone) {
  ends_.Refused(SqlRefusal("23514", "no"), *Claims(2));
  EXPECT_TRUE(NoneAnswered());
  EXPECT_EQ(turns.GiveUpWaiting().size(), 2U);
  EXPECT_FALSE(health.writing_stopped);
}

TEST_F(BatchEndsTest, ACommandThatIsRefusedAloneIsAnswered) {
  ends_.Refused(SqlRefusal("23514", "no"), *Claims(1));
  EXPECT_EQ(Get(answers_[0]).status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(told, "refused a write that was tried in a transaction of its own"))
      << told;
}

TEST_F(BatchEndsTest, AServerThatTakesNoRowsRefusesTheBatchAtOnce) {
  ends_.Refused(SqlRefusal("53100", "disk full"), *Claims(2));
  for (std::future<Decision> &answer : answers_) {
    EXPECT_EQ(Get(answer).status.code(), absl::StatusCode::kUnavailable);
  }
}

TEST_F(BatchEndsTest, TablesThatDifferTwiceInAMinuteStopWriting) {
  ends_.Refused(SqlRefusal(kRowsDiffer, "differs"), *Claims(1));
  EXPECT_EQ(health.reloads, 1);
  EXPECT_FALSE(health.writing_stopped);
  EXPECT_TRUE(NoneAnswered());
  ASSERT_EQ(turns.GiveUpWaiting().size(), 1U);
  ends_.Refused(SqlRefusal(kRowsDiffer, "differs"), *Claims(1));
  EXPECT_EQ(health.reloads, 1);
  EXPECT_TRUE(health.writing_stopped);
  EXPECT_EQ(Get(answers_[1]).status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(BatchEndsTest, ARefusedRowWithoutCommandsStopsWritingUnlessItIsForLeases) {
  const StatePtr base = publisher.Newest();
  Batch empty(base, base->position().ledger_time, {});
  EXPECT_EQ(turns.Begin(false), Turn::kShared);
  ends_.Refused(SqlRefusal("23514", "no"), empty);
  EXPECT_FALSE(health.writing_stopped);
  std::unique_ptr<Batch> batch = Claims(1);
  batch->Prepare(options.log_rows_kept);
  Lose(std::move(batch));
  ends_.Refused(SqlRefusal("23514", "no"), *Settle());
  EXPECT_TRUE(health.writing_stopped);
  EXPECT_TRUE(NoneAnswered());
}

TEST_F(BatchEndsTest, WithoutTheLockCommandsWaitOrAreRefusedWithAllOthers) {
  answers_.push_back(Push(WithId(Claim(1, {1}, 1), "")));
  ends_.LockFailed(SqlRefusal(kLockTimeout, "timeout"), TakeShared());
  EXPECT_EQ(queue.size(), 1);
  EXPECT_TRUE(connection.is_open());
  const std::vector<PendingPtr> commands = TakeShared();
  answers_.push_back(Push(WithId(Claim(2, {1}, 1), "")));
  ends_.LockFailed(SqlRefusal("42501", "no"), commands);
  for (std::future<Decision> &answer : answers_) {
    EXPECT_EQ(Get(answer).status.code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_FALSE(connection.is_open());
  EXPECT_FALSE(health.reachable);
}

}  // namespace
}  // namespace berth::placement
