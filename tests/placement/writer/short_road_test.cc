// Batches on the short road, with the test's thread as the writer's: whatever
// comes meanwhile comes at a step of the road.

#include "placement/writer/short_road.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "placement/store/schema.h"
#include "tests/placement/writer/made_parts.h"

namespace berth::placement {
namespace {

constexpr int kMany = 20;  // fill a batch

class ShortRoadTest : public ::testing::Test, protected MadeParts {
 protected:
  ShortRoadTest() {
    options.batch_weight_max = kMany;
    rotation_.Rotate(clock.Now(publisher.Newest()->position()));
    options.at_step = [this](LedgerStep step) {
      const auto found = at_.find(step);
      if (found == at_.end()) return;
      const std::function<void()> call = std::move(found->second);
      at_.erase(found);
      call();
    };
  }

  void Begin(int first, int count) {
    for (int i = first; i < first + count; ++i) {
      answers_.push_back(Push(WithId(Claim(i, {1}, 1), absl::StrCat("id", i)), cancelled_));
    }
  }
  // Takes the road with a claim of consumer 1. While its message waits for the
  // lock, kMany claims come. Calls `then` when these are decided ahead, and
  // gives up the lock.
  void TakeWithMore(const std::function<void()> &then) {
    at_[LedgerStep::kBeforeWrite] = [this] {
      ASSERT_EQ(holder_->Run(absl::StrCat("BEGIN; SELECT pg_advisory_xact_lock(", kLedgerLock, ")"),
                             nullptr),
                absl::OkStatus());
      Begin(101, kMany);
    };
    at_[LedgerStep::kDecidedAhead] = [this, then] {
      then();
      EXPECT_EQ(holder_->Run("COMMIT", nullptr), absl::OkStatus());
    };
    Begin(1, 1);
    road_.Take(TakeShared());
  }
  void EndSession() {
    EXPECT_EQ(QueryOne(*holder_,
                       "SELECT count(pg_terminate_backend(pid, 5000)) FROM "
                       "pg_stat_activity WHERE "
                       "application_name = 'berth-placement writer' AND datname = "
                       "current_database()"),
              "1");
  }
  void ExpectOk(size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) EXPECT_EQ(Get(answers_[i]).status, absl::OkStatus());
  }
  // All of the queue are commands that no batch has begun.
  void ExpectWaiting(int count) {
    const std::vector<PendingPtr> waiting = queue.TakeAll();
    EXPECT_EQ(waiting.size(), static_cast<size_t>(count));
    for (const PendingPtr &pending : waiting) EXPECT_EQ(pending->phase, Pending::Phase::kWaiting);
  }

  std::map<LedgerStep, std::function<void()>> at_;  // called once
  std::atomic<bool> stopping_{false};
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<Database> holder_ = ConnectOrDie(url);
  RequestRotation rotation_{options, &connection, &health};
  BatchEnds ends_{parts()};
  ShortRoad road_{parts(), &ends_, &rotation_, &stopping_};
  std::vector<std::future<Decision>> answers_;
};

TEST_F(ShortRoadTest, ABatchTakesEffectAndIsAnswered) {
  const Revision before = publisher.Newest()->position().revision;
  Begin(1, 2);
  road_.Take(TakeShared());
  ExpectOk(0, 2);
  EXPECT_EQ(publisher.Newest()->position().revision.number, before.number + 1);
  EXPECT_EQ(ends_.committed(), publisher.Newest()->position().batch);
  EXPECT_EQ(QueryOne(*holder_, "SELECT max(revision) FROM log"), absl::StrCat(before.number + 1));
}

// Another process has written what this one has not heard of.
TEST_F(ShortRoadTest, ABatchThatWasDecidedOnAnOldStateWritesNothing) {
  LedgerRunner other(OptionsFor(url));
  Begin(1, 2);
  at_[LedgerStep::kDecided] = [&other] { other.Must(Claim(11, {1}, 99)); };
  road_.Take(TakeShared());
  EXPECT_FALSE(Answered(answers_[0]));
  EXPECT_EQ(health.moved_batches, 1);
  EXPECT_EQ(publisher.committing(), BatchId());
  EXPECT_EQ(QueryOne(*holder_, "SELECT count(*) FROM consumer"), "1");
  EXPECT_EQ(roads.Next(true, false), Road::kLong);
  ExpectWaiting(2);
}

TEST_F(ShortRoadTest, TheNextBatchIsDecidedMeanwhileAndSentAfterwards) {
  const Revision before = publisher.Newest()->position().revision;
  TakeWithMore([this] {
    EXPECT_FALSE(Answered(answers_[0]));
    EXPECT_EQ(UsedOf(*publisher.Newest(), 1), 0);
  });
  ExpectOk(0, 1 + kMany);
  EXPECT_EQ(health.ahead_batches, 1);
  EXPECT_EQ(UsedOf(*publisher.Newest(), 1), 1 + kMany);
  EXPECT_EQ(publisher.Newest()->position().revision.number, before.number + 2);
}

TEST_F(ShortRoadTest, WhatWasDecidedAheadOfALostBatchIsDropped) {
  TakeWithMore([this] { EndSession(); });
  EXPECT_NE(turns.in_doubt(), nullptr);
  EXPECT_FALSE(connection.is_open());
  EXPECT_EQ(health.dropped_batches, 1);
  EXPECT_EQ(health.batches, 0);
  ExpectWaiting(kMany);
}

// The caller of the last command that was decided ahead gives up, after the
// batch before it took effect.
TEST_F(ShortRoadTest, ABatchThatCannotBeginGoesBackAndTheOneBeforeIsAnswered) {
  TakeWithMore([this] { at_[LedgerStep::kDecided] = [this] { *cancelled_ = true; }; });
  ExpectOk(0, 1);
  EXPECT_EQ(health.batches, 1);
  EXPECT_EQ(health.dropped_batches, 1);
  EXPECT_EQ(roads.Next(true, false), Road::kLong);
  ExpectWaiting(kMany);
}

TEST_F(ShortRoadTest, NothingIsDecidedAheadWhileTheProcessStops) {
  at_[LedgerStep::kBeforeWrite] = [this] {
    stopping_ = true;
    Begin(101, kMany);
  };
  Begin(1, 1);
  road_.Take(TakeShared());
  ExpectOk(0, 1);
  EXPECT_EQ(health.ahead_batches, 0);
  ExpectWaiting(kMany);
}

// Refusals alone write nothing; the comparison of their state still comes
// first.
TEST_F(ShortRoadTest, ARefusalIsComparedBeforeItIsAnswered) {
  LedgerRunner other(OptionsFor(url));
  answers_.push_back(Push(WithId(Claim(1, {1}, 101), "")));
  at_[LedgerStep::kDecided] = [&other] { other.Must(Claim(11, {1}, 1)); };
  road_.Take(TakeShared());
  EXPECT_FALSE(Answered(answers_[0]));
  ExpectWaiting(1);
}

}  // namespace
}  // namespace berth::placement
