// When a batch may be decided while the one before is being committed, and how often that is in
// vain.

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/writer/clock.h"
#include "tests/placement/ledger/ahead_fixture.h"

namespace berth::placement {
namespace {

// The next tests each begin claims that could be decided ahead, but for one thing that must wait
// until no batch is under way.
TEST_F(LedgerAhead, NothingIsDecidedAheadOfALargeBatch) {
  Use(WithLargeBatches(), kManyProviders);
  TakeLock();
  std::future<Decision> large = Send(WithId(LargeClaim(1), ""));
  ExpectNotAhead();
  EXPECT_EQ(large.get().status, absl::OkStatus());
}

TEST_F(LedgerAhead, NothingIsDecidedAheadWhileACommandWaitsForABatchOfItsOwn) {
  Use(WithLargeBatches(), kManyProviders);
  gate_.Close(LedgerStep::kBeforeLock);
  std::future<Decision> before = runner_->Begin(WithId(Claim(1, {1}, 1), ""));
  gate_.AwaitWriter();
  std::future<Decision> small = runner_->Begin(WithId(Claim(2, {1}, 1), ""));
  std::future<Decision> large = runner_->Begin(WithId(LargeClaim(3), ""));
  gate_.Close(LedgerStep::kDecided);  // of the first one
  gate_.AwaitWriter();
  gate_.Close(LedgerStep::kBeforeLock);  // of the small one: the large one does not fit beside it
  EXPECT_EQ(before.get().status, absl::OkStatus());
  gate_.AwaitWriter();
  TakeLock();
  gate_.Open();
  AwaitSent();
  ExpectNotAhead();
  EXPECT_EQ(small.get().status, absl::OkStatus());
  EXPECT_EQ(large.get().status, absl::OkStatus());
}

TEST_F(LedgerAhead, NothingIsDecidedAheadAfterTheHourInWhichRequestIdsAreDropped) {
  LedgerOptions options = AtGate(NewDatabase());
  options.boot_clock = [this] { return absl::Seconds(seconds_.load()); };
  Use(options, 1);
  gate_.Close(LedgerStep::kBeforeLock);
  std::future<Decision> first = runner_->Begin(WithId(Claim(1, {1}, 1), ""));
  gate_.AwaitWriter();
  seconds_ += 3600;
  TakeLock();
  gate_.Open();
  AwaitSent();
  ExpectNotAhead();
  EXPECT_EQ(first.get().status, absl::OkStatus());
}

// A lease exists, and the newest row of the log becomes old while a batch of refusals is compared.
TEST_F(LedgerAhead, NothingIsDecidedAheadIfTheLedgerTimeMustBeRecorded) {
  LedgerOptions options = AtGate(NewDatabase());
  options.boot_clock = [this] { return absl::Seconds(seconds_.load()); };
  Use(options, 1);
  CommandBody leased = Claim(1, {1}, 1);
  std::get<SetAllocations>(leased).consumers[0].lease = absl::Hours(1);
  runner_->Must(leased);
  gate_.Close(LedgerStep::kDecided);
  std::future<Decision> first = runner_->Begin(WithId(Claim(2, {1}, 100), ""));
  gate_.AwaitWriter();
  seconds_ += absl::ToInt64Seconds(kLedgerTimeStepMax);
  TakeLock();
  gate_.Open();
  AwaitSent();
  ExpectNotAhead();
  EXPECT_EQ(ReasonOf(first.get()), "CAPACITY_EXCEEDED");
}

TEST_F(LedgerAhead, NothingIsDecidedAheadIfTheLedgerStops) {
  gate_.Close(LedgerStep::kBeforeWrite);
  std::future<Decision> first = runner_->Begin(WithId(Claim(1, {1}, 1), ""));
  gate_.AwaitWriter();
  TakeLock();
  std::vector<std::future<Decision>> claims = BeginClaims();
  std::thread stopper([&] { runner_->ledger().Stop(BootNow() + absl::Seconds(30)); });
  ASSERT_TRUE(LedgerRunner::Eventually([&] {  // the queue takes nothing any more
    return runner_->Begin(WithId(Claim(2, {1}, 1), "")).wait_for(std::chrono::seconds(0)) ==
           std::future_status::ready;
  }));
  PassSomeTime();
  gate_.Open();
  AwaitSent();
  PassSomeTime();
  LetGo();
  stopper.join();
  EXPECT_EQ(first.get().status, absl::OkStatus());
  for (std::future<Decision>& claim : claims) {
    EXPECT_EQ(claim.get().status.code(), absl::StatusCode::kUnavailable);
  }
}

// A command for many consumers is as much work as many commands: the writer is woken for it, and it
// fills a batch.
TEST_F(LedgerAhead, ACommandForManyConsumersIsDecidedAhead) {
  Use(AtGate(NewDatabase()), 2);
  SetAllocations many;
  for (int i = 1; i <= kCommands; ++i) {
    many.consumers.push_back(std::get<SetAllocations>(Claim(100 + i, {1}, 1)).consumers[0]);
  }
  TakeLock();
  std::future<Decision> first = Send(WithId(Claim(1, {2}, 1), ""));
  gate_.Close(LedgerStep::kDecidedAhead);
  std::future<Decision> second = runner_->Begin(WithId(many, "many"));
  std::future<Decision> third = runner_->Begin(WithId(Claim(2, {2}, 1), ""));
  gate_.AwaitWriter();
  EXPECT_EQ(runner_->ledger().health().queue_length, 1);
  LetGo();
  EXPECT_EQ(first.get().status, absl::OkStatus());
  EXPECT_EQ(second.get().status, absl::OkStatus());
  EXPECT_EQ(third.get().status, absl::OkStatus());
  ExpectCleanSelfCheck(*runner_, url_);
}

// One process writes alone: its batches are decided once.
TEST_F(LedgerAhead, FewBatchesOfALoneWriterAreDecidedTwice) {
  constexpr int kThreads = 16;
  constexpr int kClaimsEach = 100;
  LedgerOptions options = OptionsFor(NewDatabase());
  Use(options, kThreads);
  const LedgerHealth before = runner_->ledger().health();
  std::vector<std::thread> threads;
  for (int thread = 1; thread <= kThreads; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 1; i <= kClaimsEach; ++i) {
        const int consumer = thread * 1000 + i;
        (void)runner_->Do(Claim(consumer, {thread}, 1), absl::StrCat(consumer));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const LedgerHealth after = runner_->ledger().health();
  EXPECT_EQ(after.commands - before.commands, kThreads * kClaimsEach);
  const int64_t batches = after.short_batches - before.short_batches;
  EXPECT_GE(100 * batches, 99 * (after.batches - before.batches));
  EXPECT_LT(100 * (after.moved_batches + after.dropped_batches), batches);
  ExpectCleanSelfCheck(*runner_, url_);
}

}  // namespace
}  // namespace berth::placement
