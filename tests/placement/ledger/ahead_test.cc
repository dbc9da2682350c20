// The batch that is decided while the one before it is being committed.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ledger/ledger.h"
#include "placement/store/schema.h"
#include "tests/placement/ledger/gate.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

constexpr int kCommands = 20;  // fill a batch

class LedgerAhead : public ::testing::Test {
 protected:
  LedgerAhead() {
    LedgerOptions options = OptionsFor(url_);
    options.batch_commands_max = kCommands;
    options.batch_deciding_max = absl::Minutes(1);
    options.at_step = [this](LedgerStep step) { gate_.Pass(step); };
    runner_ = std::make_unique<LedgerRunner>(options);
    MakeProviders(*runner_, 1, kCommands, 1024);
  }

  std::string Waiting(const char* columns) const {
    return absl::StrCat("SELECT ", columns,
                        " FROM pg_stat_activity WHERE wait_event = 'advisory' AND "
                        "application_name = 'berth-placement writer' AND datname = "
                        "current_database()");
  }
  void TakeLock() {
    ASSERT_EQ(holder_->Run(absl::StrCat("BEGIN; SELECT pg_advisory_xact_lock(", kLedgerLock, ")"),
                           nullptr),
              absl::OkStatus());
  }
  // Begins `first`, whose message waits for the lock, which TakeLock has taken.
  std::future<Decision> Send(Command first) {
    std::future<Decision> sent = runner_->Begin(std::move(first));
    EXPECT_TRUE(
        LedgerRunner::Eventually([&] { return QueryOne(*observer_, Waiting("count(*)")) == "1"; }));
    return sent;
  }
  // Begins a claim of one unit for each of kCommands consumers, the first one being `base` + 1, and
  // waits until a batch of them is decided on the state that the batch which was sent will make.
  std::vector<std::future<Decision>> DecideAhead(int base = 100) {
    gate_.Close(LedgerStep::kDecidedAhead);
    std::vector<std::future<Decision>> claims;
    for (int i = 1; i <= kCommands; ++i) {
      const std::string request_id = absl::StrCat("id", base + i);
      claims.push_back(runner_->Begin(WithId(Claim(base + i, {1}, 1), request_id)));
    }
    gate_.AwaitWriter();
    return claims;
  }
  void LetGo() {
    ASSERT_EQ(holder_->Run("COMMIT", nullptr), absl::OkStatus());
    gate_.Open();
  }
  int CountOk(std::vector<std::future<Decision>>& claims) {
    int ok = 0;
    for (std::future<Decision>& claim : claims) {
      const Decision decision = claim.get();
      ok += decision.status.ok() ? 1 : 0;
      EXPECT_TRUE(decision.status.ok() || ReasonOf(decision) == "CAPACITY_EXCEEDED")
          << decision.status;
    }
    return ok;
  }

  const std::string url_ = NewDatabase();
  Gate gate_;
  std::unique_ptr<LedgerRunner> runner_;
  std::unique_ptr<Database> holder_ = ConnectOrDie(url_);
  std::unique_ptr<Database> observer_ = ConnectOrDie(url_);
};

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
  runner_->ledger().Submit(WithId(Claim(2, {1}, 10), ""), absl::Now() + absl::Seconds(30),
                           cancelled,
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
  std::atomic<int64_t> seconds{1'700'000'000};
  LedgerOptions options = OptionsFor(NewDatabase());
  const std::string url = options.database_url;
  options.boot_clock = [&] { return absl::Seconds(seconds.load()); };
  LedgerRunner runner(options);
  MakeProviders(runner, 1, kCommands, 1024);
  CommandBody leased = Claim(1, {1}, kCommands);
  std::get<SetAllocations>(leased).consumers[0].lease = absl::Seconds(10);
  runner.Must(leased);
  auto holder = ConnectOrDie(url);
  auto observer = ConnectOrDie(url);
  ASSERT_EQ(
      holder->Run(absl::StrCat("BEGIN; SELECT pg_advisory_xact_lock(", kLedgerLock, ")"), nullptr),
      absl::OkStatus());
  std::future<Decision> sent = runner.Begin(WithId(NewProvider(2), ""));
  ASSERT_TRUE(
      LedgerRunner::Eventually([&] { return QueryOne(*observer, Waiting("count(*)")) == "1"; }));
  seconds += 10;
  std::vector<std::future<Decision>> claims;
  for (int i = 1; i <= kCommands; ++i) {
    claims.push_back(runner.Begin(WithId(Claim(100 + i, {1}, 1), "")));
  }
  ASSERT_EQ(holder->Run("COMMIT", nullptr), absl::OkStatus());
  EXPECT_EQ(sent.get().status, absl::OkStatus());
  EXPECT_EQ(CountOk(claims), kCommands);
  ExpectCleanSelfCheck(runner, url);
}

// However long one batch follows another: a command is freed when its batch and the next one are
// done. The command shares `kept` with the test.
TEST_F(LedgerAhead, AnAnsweredCommandIsFreedWhileBatchesFollowEachOther) {
  TakeLock();
  auto kept = std::make_shared<std::atomic<bool>>(false);
  std::promise<Decision> promise;
  runner_->ledger().Submit(WithId(Claim(1, {1}, 1), ""), absl::Now() + absl::Seconds(30), kept,
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
