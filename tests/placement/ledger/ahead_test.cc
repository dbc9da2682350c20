// The batch that is decided while the one before it is being committed.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ledger/ledger.h"
#include "tests/placement/ledger/ahead_fixture.h"
#include "tests/processes/cutting_proxy.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

TEST_F(LedgerAhead, ABatchStandsOnTheOneBeforeIt) {
  TakeLock();
  std::future<Decision> first = Send(WithId(Claim(1, {1}, 5), "first"));
  std::vector<std::future<Decision>> claims = DecideAhead();
  EXPECT_EQ(first.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_EQ(runner_->ledger().Newest()->consumers().size(), 0);  // nobody sees what may not come
  LetGo();
  const Decision decision = first.get();
  EXPECT_EQ(decision.status, absl::OkStatus());
  const Decision next = claims.back().get();
  EXPECT_EQ(ReasonOf(next), "CAPACITY_EXCEEDED");
  EXPECT_EQ(next.revision.number, decision.revision.number + 1);
  claims.pop_back();
  EXPECT_EQ(CountOk(claims), kCommands - 5);
  const LedgerHealth health = runner_->ledger().health();
  EXPECT_EQ(health.ahead_batches, 1);
  EXPECT_EQ(health.moved_batches + health.dropped_batches, 0);
  ExpectCleanSelfCheck(*runner_, url_);
}

// PostgreSQL refuses the batch before: what was decided ahead knew of a claim that never was.
TEST_F(LedgerAhead, ARefusedBatchTakesTheNextOneWithIt) {
  ASSERT_EQ(
      holder_->Run("ALTER TABLE consumer ADD CONSTRAINT poison CHECK (amount[1] <> 13)", nullptr),
      absl::OkStatus());
  TakeLock();
  std::future<Decision> poison = Send(WithId(Claim(1, {1}, 13), ""));
  std::vector<std::future<Decision>> claims = DecideAhead();
  LetGo();
  EXPECT_EQ(poison.get().status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(CountOk(claims), kCommands);
  EXPECT_EQ(runner_->ledger().health().dropped_batches, 1);
  ExpectCleanSelfCheck(*runner_, url_);
}

TEST_F(LedgerAhead, AMovedBatchTakesTheNextOneWithIt) {
  Gate other_gate;
  LedgerOptions options = OptionsFor(url_);
  options.roads = LedgerRoads::kLong;
  options.at_step = [&](LedgerStep step) { other_gate.Pass(step); };
  LedgerRunner other(options);
  other_gate.Close(LedgerStep::kBeforeWrite);
  std::future<Decision> before = other.Begin(WithId(Claim(2, {1}, 5), ""));
  other_gate.AwaitWriter();
  std::future<Decision> first = Send(WithId(Claim(1, {1}, 5), ""));
  std::vector<std::future<Decision>> claims = DecideAhead();
  other_gate.Open();
  gate_.Open();
  EXPECT_EQ(before.get().status, absl::OkStatus());
  EXPECT_EQ(first.get().status, absl::OkStatus());
  EXPECT_EQ(CountOk(claims), kCommands - 10);
  const LedgerHealth health = runner_->ledger().health();
  EXPECT_EQ(health.moved_batches, 1);
  EXPECT_EQ(health.dropped_batches, 1);
  ExpectCleanSelfCheck(*runner_, url_);
}

TEST_F(LedgerAhead, ALostBatchTakesTheNextOneWithIt) {
  TakeLock();
  std::future<Decision> first = Send(WithId(Claim(1, {1}, 5), "first"));
  std::vector<std::future<Decision>> claims = DecideAhead();
  EXPECT_EQ(QueryOne(*observer_, Waiting("pg_terminate_backend(pid, 5000)")), "t");
  LetGo();
  EXPECT_EQ(first.get().status, absl::OkStatus());
  EXPECT_EQ(CountOk(claims), kCommands - 5);
  const LedgerHealth health = runner_->ledger().health();
  EXPECT_EQ(health.in_doubt, 1);
  EXPECT_EQ(health.dropped_batches, 1);
  ExpectCleanSelfCheck(*runner_, url_);
}

// The second of two commands with one request id waits until the answer to the first is kept.
TEST_F(LedgerAhead, ARequestIdOfTheBatchBeforeIsSeen) {
  const int64_t before = runner_->ledger().health().short_batches;
  TakeLock();
  std::future<Decision> first = Send(WithId(Claim(101, {1}, 1), "id1"));
  gate_.Close(LedgerStep::kDecidedAhead);
  std::vector<std::future<Decision>> claims;
  for (int i = kCommands; i >= 1; --i) {  // the one with the id of the first comes last
    claims.push_back(runner_->Begin(WithId(Claim(100 + i, {1}, 1), absl::StrCat("id", i))));
  }
  gate_.AwaitWriter();
  LetGo();
  const Decision decision = first.get();
  const Decision again = claims.back().get();
  EXPECT_TRUE(again.replayed) << again.status;
  EXPECT_EQ(again.revision, decision.revision);
  claims.pop_back();
  EXPECT_EQ(CountOk(claims), kCommands - 1);
  EXPECT_EQ(runner_->ledger().health().short_batches - before, 2);  // it was not in the second one
  ExpectCleanSelfCheck(*runner_, url_);
}

TEST_F(LedgerAhead, WhatIsTooLateBeforeItIsSentIsNotDone) {
  TakeLock();
  std::future<Decision> first = Send(WithId(Claim(1, {1}, 1), "first"));
  gate_.Close(LedgerStep::kDecidedAhead);
  std::future<Decision> late = runner_->Begin(WithId(Claim(2, {1}, 10), "late"), absl::Seconds(2));
  std::vector<std::future<Decision>> claims;
  for (int i = 2; i <= kCommands; ++i) {
    claims.push_back(runner_->Begin(WithId(Claim(100 + i, {1}, 1), "")));
  }
  gate_.AwaitWriter();
  EXPECT_EQ(ReasonOf(late.get()), "DEADLINE_BEFORE_START");
  LetGo();
  EXPECT_EQ(first.get().status, absl::OkStatus());
  EXPECT_EQ(CountOk(claims), kCommands - 1);
  EXPECT_EQ(runner_->ledger().health().dropped_batches, 1);
  ExpectCleanSelfCheck(*runner_, url_);
}

TEST_F(LedgerAhead, WhatIsCancelledBeforeItIsSentIsNotDone) {
  TakeLock();
  std::future<Decision> first = Send(WithId(Claim(1, {1}, 1), "first"));
  gate_.Close(LedgerStep::kDecidedAhead);
  auto cancelled = std::make_shared<std::atomic<bool>>(false);
  std::promise<Decision> promise;
  runner_->ledger().Submit(WithId(Claim(2, {1}, 10), ""), BootNow() + absl::Seconds(30), cancelled,
                           [&](Decision decision) { promise.set_value(std::move(decision)); });
  std::vector<std::future<Decision>> claims;
  for (int i = 2; i <= kCommands; ++i) {
    claims.push_back(runner_->Begin(WithId(Claim(100 + i, {1}, 1), "")));
  }
  gate_.AwaitWriter();
  *cancelled = true;
  LetGo();
  EXPECT_EQ(first.get().status, absl::OkStatus());
  EXPECT_EQ(promise.get_future().get().status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(CountOk(claims), kCommands - 1);
  ExpectCleanSelfCheck(*runner_, url_);
}

// A lease ends while the batch before is being committed. Its room is free for the next commands.
TEST_F(LedgerAhead, ALeaseThatEndsMeanwhileIsReleasedFirst) {
  LedgerOptions options = AtGate(NewDatabase());
  options.boot_clock = [this] { return absl::Seconds(seconds_.load()); };
  Use(options, 1);
  CommandBody leased = Claim(1, {1}, kCommands);
  std::get<SetAllocations>(leased).consumers[0].lease = absl::Seconds(10);
  runner_->Must(leased);
  TakeLock();
  std::future<Decision> sent = Send(WithId(NewProvider(2), ""));
  seconds_ += 10;
  std::vector<std::future<Decision>> claims = BeginClaims();
  LetGo();
  EXPECT_EQ(sent.get().status, absl::OkStatus());
  EXPECT_EQ(CountOk(claims), kCommands);
  ExpectCleanSelfCheck(*runner_, url_);
}

// A large command gets a batch of its own, so that the answers of the batch before do not wait until
// it is decided.
TEST_F(LedgerAhead, ALargeCommandIsNotDecidedAhead) {
  Use(WithLargeBatches(), kManyProviders);
  TakeLock();
  std::future<Decision> first = Send(WithId(Claim(1, {1}, 1), ""));
  std::future<Decision> large = runner_->Begin(WithId(LargeClaim(2), ""));
  std::vector<std::future<Decision>> claims = DecideAhead();
  LetGo();
  EXPECT_EQ(first.get().status, absl::OkStatus());
  const Decision alone = large.get();
  EXPECT_EQ(alone.status, absl::OkStatus());
  EXPECT_GT(alone.revision, claims.front().get().revision);
  claims.erase(claims.begin());
  EXPECT_EQ(CountOk(claims), kCommands - 2);
  ExpectCleanSelfCheck(*runner_, url_);
}

// The message of the next batch needs a round trip of preparation, and the server is silent.
TEST_F(LedgerAhead, ACommittedBatchIsAnsweredBeforeTheNextOneIsPrepared) {
  const std::string url = NewDatabase();
  CuttingProxy proxy(url);
  LedgerOptions options = AtGate(proxy.Through(url));
  options.no_progress_max = absl::Minutes(1);
  Use(options, 1);
  TakeLock();
  std::future<Decision> first = Send(WithId(Claim(1, {1}, 1), ""));
  std::vector<std::future<Decision>> claims = DecideAhead();  // with request ids: another statement
  gate_.Close(LedgerStep::kCommitted);
  ASSERT_EQ(holder_->Run("COMMIT", nullptr), absl::OkStatus());
  gate_.AwaitWriter();
  proxy.Hold(true);
  gate_.Open();
  EXPECT_EQ(first.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(claims.front().wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  proxy.Hold(false);
  EXPECT_EQ(CountOk(claims), kCommands - 1);
  runner_.reset();
}

// However long one batch follows another: a command is freed when its batch and the next one are
// done. The command shares `kept` with the test.
TEST_F(LedgerAhead, AnAnsweredCommandIsFreedWhileBatchesFollowEachOther) {
  TakeLock();
  auto kept = std::make_shared<std::atomic<bool>>(false);
  std::promise<Decision> promise;
  runner_->ledger().Submit(WithId(Claim(1, {1}, 1), ""), BootNow() + absl::Seconds(30), kept,
                           [&](Decision decision) { promise.set_value(std::move(decision)); });
  ASSERT_TRUE(
      LedgerRunner::Eventually([&] { return QueryOne(*observer_, Waiting("count(*)")) == "1"; }));
  std::vector<std::future<Decision>> second = DecideAhead(100);
  gate_.Close(LedgerStep::kBeforeWrite);
  ASSERT_EQ(holder_->Run("COMMIT", nullptr), absl::OkStatus());
  gate_.AwaitWriter();  // the first batch is committed, the second not yet sent
  TakeLock();
  std::vector<std::future<Decision>> third = DecideAhead(200);
  EXPECT_EQ(promise.get_future().get().status, absl::OkStatus());
  EXPECT_GT(kept.use_count(), 1);
  gate_.Close(LedgerStep::kDecided);
  ASSERT_EQ(holder_->Run("COMMIT", nullptr), absl::OkStatus());
  gate_.AwaitWriter();
  EXPECT_EQ(kept.use_count(), 1);
  gate_.Open();
  EXPECT_EQ(CountOk(second), kCommands - 1);
  EXPECT_EQ(CountOk(third), 0);
}

}  // namespace
}  // namespace berth::placement
