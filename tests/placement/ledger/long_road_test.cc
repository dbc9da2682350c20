// Batches that are decided under the lock: what another process wrote comes with the lock, and
// commands that come while the writer waits for the lock go with the batch.

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/ledger/ledger.h"
#include "placement/store/schema.h"
#include "tests/placement/ledger/gate.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

class LedgerLongRoad : public ::testing::Test {
 protected:
  LedgerLongRoad() {
    LedgerOptions options = OptionsFor(url_);
    options.roads = LedgerRoads::kLong;
    options.at_step = [this](LedgerStep step) { gate_.Pass(step); };
    runner_ = std::make_unique<LedgerRunner>(options);
    MakeProviders(*runner_, 1, 100, 1024);
  }

  // Begins `first` and waits until its batch waits for the lock, which somebody else has.
  std::future<Decision> BeginWithoutLock(Command first) {
    TakeLock();
    std::future<Decision> begun = runner_->Begin(std::move(first));
    AwaitWaiter();
    return begun;
  }
  void TakeLock() {
    ASSERT_EQ(holder_->Run(absl::StrCat("BEGIN; SELECT pg_advisory_xact_lock(", kLedgerLock, ")"),
                           nullptr),
              absl::OkStatus());
  }
  // Until the writer waits for the lock.
  void AwaitWaiter() {
    ASSERT_TRUE(LedgerRunner::Eventually([&] {
      return QueryOne(*observer_,
                      "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND "
                      "datname = current_database()") == "1";
    }));
  }
  void GiveUpLock() { ASSERT_EQ(holder_->Run("COMMIT", nullptr), absl::OkStatus()); }

  const std::string url_ = NewDatabase();
  Gate gate_;
  std::unique_ptr<LedgerRunner> runner_;
  std::unique_ptr<Database> holder_ = ConnectOrDie(url_);
  std::unique_ptr<Database> observer_ = ConnectOrDie(url_);
};

// The follower of the process does not run, so its writer alone catches up.
TEST_F(LedgerLongRoad, WhatAnotherProcessWroteComesWithTheLock) {
  LedgerOptions options = OptionsFor(url_);
  options.roads = LedgerRoads::kLong;
  options.at_step = [this](LedgerStep step) { gate_.Pass(step); };
  LedgerRunner late(options, false);
  for (int i = 1; i <= 3; ++i) runner_->Must(Claim(i, {1}, 1), absl::StrCat(i));
  gate_.Close(LedgerStep::kBeforeWrite);
  std::future<Decision> claim = late.Begin(WithId(Claim(4, {1}, 1), ""));
  gate_.AwaitWriter();
  EXPECT_EQ(late.ledger().health().followed_rows, 3);
  // No other query came between the lock and the write.
  EXPECT_EQ(QueryOne(*observer_,
                     "SELECT query LIKE 'BEGIN; SELECT pg_advisory_xact_lock(%' FROM "
                     "pg_stat_activity WHERE state = 'idle in transaction' AND datname = "
                     "current_database()"),
            "t");
  gate_.Open();
  EXPECT_EQ(claim.get().status, absl::OkStatus());
  EXPECT_EQ(UsedOf(*late.ledger().Newest(), 1), 4);
  ExpectCleanSelfCheck(late, url_);
}

TEST_F(LedgerLongRoad, CommandsThatComeDuringTheWaitForTheLockGoWithTheBatch) {
  const LedgerHealth before = runner_->ledger().health();
  std::vector<std::future<Decision>> claims;
  claims.push_back(BeginWithoutLock(WithId(Claim(1, {1}, 1), "1")));
  for (int i = 2; i <= 40; ++i) {
    claims.push_back(runner_->Begin(WithId(Claim(i, {1}, 1), i % 2 == 0 ? "" : absl::StrCat(i))));
  }
  GiveUpLock();
  for (std::future<Decision>& claim : claims) EXPECT_EQ(claim.get().status, absl::OkStatus());
  const LedgerHealth after = runner_->ledger().health();
  EXPECT_EQ(after.batches - before.batches, 1);
  EXPECT_EQ(after.moved_batches, 0);
  for (int i = 3; i <= 39; i += 2) {
    EXPECT_TRUE(runner_->Do(Claim(i, {1}, 1), absl::StrCat(i)).replayed) << i;
  }
  ExpectCleanSelfCheck(*runner_, url_);
}

// The request id of a command that comes during the wait was used before. The batch has read the
// kept answers before this command came: it finds out when it writes.
TEST_F(LedgerLongRoad, ACommandThatComesDuringTheWaitIsNotDoneTwice) {
  const Decision done = runner_->Must(Claim(1, {1}, 1), "used");
  std::future<Decision> first = BeginWithoutLock(WithId(Claim(2, {1}, 1), "first"));
  std::future<Decision> again = runner_->Begin(WithId(Claim(1, {1}, 1), "used"));
  std::future<Decision> last = runner_->Begin(WithId(Claim(3, {1}, 1), ""));
  GiveUpLock();
  EXPECT_EQ(first.get().status, absl::OkStatus());
  const Decision replayed = again.get();
  EXPECT_EQ(replayed.status, absl::OkStatus());
  EXPECT_TRUE(replayed.replayed);
  EXPECT_EQ(replayed.revision, done.revision);
  EXPECT_EQ(last.get().status, absl::OkStatus());
  EXPECT_EQ(UsedOf(*runner_->ledger().Newest(), 1), 3);
  EXPECT_EQ(runner_->ledger().health().moved_batches, 1);
  ExpectCleanSelfCheck(*runner_, url_);
}

// After a comparison that failed, the next batch reads the kept answers of all its commands. Else
// callers that repeat used request ids could have the same commands decided again and again.
TEST_F(LedgerLongRoad, AComparisonThatFailedIsNotFollowedByAnother) {
  runner_->Must(Claim(1, {1}, 1), "one");
  runner_->Must(Claim(2, {1}, 1), "two");
  std::future<Decision> first = BeginWithoutLock(WithId(Claim(3, {1}, 1), "first"));
  std::future<Decision> one = runner_->Begin(WithId(Claim(1, {1}, 1), "one"));
  gate_.Close(LedgerStep::kBeforeLock);
  GiveUpLock();
  gate_.AwaitWriter();
  TakeLock();
  gate_.Open();
  AwaitWaiter();
  std::future<Decision> two = runner_->Begin(WithId(Claim(2, {1}, 1), "two"));
  GiveUpLock();
  EXPECT_EQ(first.get().status, absl::OkStatus());
  EXPECT_TRUE(one.get().replayed);
  EXPECT_TRUE(two.get().replayed);
  EXPECT_EQ(runner_->ledger().health().moved_batches, 1);
}

// The same in a batch that writes nothing, because it refuses all its commands.
TEST_F(LedgerLongRoad, ARefusalIsNotAnsweredBeforeTheRequestIdIsCompared) {
  const Decision done = runner_->Must(Claim(1, {1}, 60), "used");
  std::future<Decision> first = BeginWithoutLock(WithId(Claim(2, {1}, 60), "first"));
  std::future<Decision> again = runner_->Begin(WithId(Claim(1, {1}, 60), "used"));
  GiveUpLock();
  EXPECT_EQ(ReasonOf(first.get()), "CAPACITY_EXCEEDED");
  const Decision replayed = again.get();
  EXPECT_EQ(replayed.status, absl::OkStatus());
  EXPECT_EQ(replayed.revision, done.revision);
  // An id that was never used is compared, too, and its refusal is answered.
  first = BeginWithoutLock(WithId(Claim(2, {1}, 60), "first"));
  std::future<Decision> other = runner_->Begin(WithId(Claim(3, {1}, 60), "other"));
  GiveUpLock();
  EXPECT_EQ(ReasonOf(first.get()), "CAPACITY_EXCEEDED");
  EXPECT_EQ(ReasonOf(other.get()), "CAPACITY_EXCEEDED");
  EXPECT_EQ(runner_->ledger().health().moved_batches, 1);
  EXPECT_EQ(UsedOf(*runner_->ledger().Newest(), 1), 60);
}

// A look-up that comes during the wait is decided in a batch that has read its kept answer.
TEST_F(LedgerLongRoad, ALookUpThatComesDuringTheWaitSeesWhatIsKept) {
  const Decision done = runner_->Must(Claim(1, {1}, 1), "used");
  std::future<Decision> first = BeginWithoutLock(WithId(Claim(2, {1}, 1), "first"));
  std::future<Decision> look = runner_->Begin(WithId(FindRequest{"tester", "used"}, ""));
  GiveUpLock();
  EXPECT_EQ(first.get().status, absl::OkStatus());
  const Decision found = look.get();
  EXPECT_EQ(found.status, absl::OkStatus());
  EXPECT_EQ(found.revision, done.revision);
  EXPECT_EQ(runner_->ledger().health().moved_batches, 0);
}

// The session ends while a batch of refusals compares a request id: nothing was written, so no
// command is in doubt.
TEST_F(LedgerLongRoad, ALostComparisonIsMadeAgain) {
  runner_->Must(Claim(1, {1}, 60));
  std::future<Decision> first = BeginWithoutLock(WithId(Claim(2, {1}, 60), "first"));
  std::future<Decision> other = runner_->Begin(WithId(Claim(3, {1}, 60), "other"));
  gate_.Close(LedgerStep::kBeforeWrite);
  GiveUpLock();
  gate_.AwaitWriter();
  EXPECT_EQ(QueryOne(*observer_,
                     "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE state = "
                     "'idle in transaction' AND datname = current_database()"),
            "t");
  gate_.Open();
  EXPECT_EQ(ReasonOf(first.get()), "CAPACITY_EXCEEDED");
  EXPECT_EQ(ReasonOf(other.get()), "CAPACITY_EXCEEDED");
  EXPECT_EQ(runner_->ledger().health().in_doubt, 0);
  EXPECT_EQ(UsedOf(*runner_->ledger().Newest(), 1), 60);
}

}  // namespace
}  // namespace berth::placement
