// One caller's commands and readers leave room for those of others.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "placement/values/refusal.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

Command By(const std::string& actor, CommandBody body) {
  Command command = WithId(std::move(body), "");
  command.actor = actor;
  return command;
}

TEST(LedgerTurns, WhoFillsTheQueueKeepsNobodyOut) {
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  std::atomic<bool> closed{false};
  LedgerOptions options = OptionsFor(NewDatabase());
  options.queue_max = 10;
  options.at_step = [&](LedgerStep step) {
    if (step == LedgerStep::kBeforeLock && closed) opened.wait();
  };
  LedgerRunner runner(options);
  MakeProviders(runner, 1, 100, 1024);
  closed = true;
  std::vector<std::future<Decision>> flood;
  flood.push_back(runner.Begin(By("scheduler/flood", Claim(1, {1}, 1))));
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return runner.ledger().health().queue_length == 0; }));
  for (int i = 2; i <= 11; ++i) {
    flood.push_back(runner.Begin(By("scheduler/flood", Claim(i, {1}, 1))));
  }
  EXPECT_EQ(ReasonOf(runner.Do(By("scheduler/flood", Claim(12, {1}, 1)))), "OVERLOADED");
  auto other = runner.Begin(By("scheduler/other", Claim(13, {1}, 1)));
  const bool is_put_out =
      flood.back().wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  EXPECT_EQ(runner.ledger().health().queue_length, 10);
  gate.set_value();
  ASSERT_TRUE(is_put_out);
  const Decision put_out = flood.back().get();
  EXPECT_EQ(put_out.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(RefusalOf(put_out.status)->reason, "OVERLOADED") << put_out.status;
  EXPECT_TRUE(RefusalOf(put_out.status)->retry_after.has_value());
  EXPECT_EQ(runner.ledger().health().refused_by_turn, 2);
  EXPECT_EQ(other.get().status, absl::OkStatus());
  flood.pop_back();
  for (std::future<Decision>& claim : flood) EXPECT_EQ(claim.get().status, absl::OkStatus());
  const StatePtr state = runner.ledger().Newest();
  EXPECT_EQ(state->FindConsumer(ConsumerNumber(11)), nullptr);  // "not done" is true
  EXPECT_NE(state->FindConsumer(ConsumerNumber(13)), nullptr);
}

class AwaitingTest : public ::testing::Test {
 protected:
  // A reader who waits for the revision after the present one.
  struct Waiting {
    std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
    std::future<absl::Status> told;
  };
  Waiting Await(const std::string& owner, int64_t revisions = 1) {
    Waiting waiting;
    auto promise = std::make_shared<std::promise<absl::Status>>();
    waiting.told = promise->get_future();
    Revision minimum = runner_.ledger().Newest()->position().revision;
    minimum.number += revisions;
    runner_.ledger().AwaitRevision(
        minimum, absl::InfiniteDuration(), {owner, waiting.cancelled},
        [promise](const absl::StatusOr<StatePtr>& state) { promise->set_value(state.status()); });
    return waiting;
  }
  // What the reader is told; kUnknown if it is told nothing.
  static absl::Status Told(Waiting* waiting) {
    const bool is_told =
        waiting->told.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
    return is_told ? waiting->told.get() : absl::UnknownError("told nothing in 30 s");
  }
  static bool IsTold(const Waiting& waiting) {
    return waiting.told.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  LedgerRunner runner_{OptionsFor(NewDatabase()), /*loops=*/false};
};

TEST_F(AwaitingTest, TenThousandReadersOfTheFutureKeepNobodyWaiting) {
  MakeProviders(runner_, 1, 8, 1024);
  std::vector<Waiting> flood;
  for (int i = 0; i < 10'000; ++i) flood.push_back(Await("reader/flood", 1'000'000));
  Waiting other = Await("reader/other");
  runner_.Must(Claim(1, {1}, 1));
  EXPECT_EQ(Told(&other), absl::OkStatus());
  // The free places are twice as many as the flood's. Who comes next is refused, ten in a step.
  for (const Waiting& waiting : flood) EXPECT_FALSE(IsTold(waiting));
  runner_.ledger().Watchdog();
  for (int i = 3'333; i < 3'343; ++i) {
    const absl::Status status = Told(&flood[i]);
    ASSERT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(RefusalOf(status)->reason, "OVERLOADED");
    EXPECT_GT(RefusalOf(status)->retry_after, absl::ZeroDuration());
    flood[i] = Await("reader/flood", 1'000'000);
  }
  for (const Waiting& waiting : flood) EXPECT_FALSE(IsTold(waiting));
}

TEST_F(AwaitingTest, AStepLooksAtAThousandAndTheNextAtOthers) {
  MakeProviders(runner_, 1, 8, 1024);
  std::vector<Waiting> many;
  for (int i = 0; i < 2'500; ++i) many.push_back(Await("reader/many", 1'000'000));
  const std::vector<int> gone = {999, 1000, 1999, 2000, 2499};
  for (const int i : gone) many[i].cancelled->store(true);
  for (int step = 1; step <= 3; ++step) {
    runner_.ledger().Watchdog();
    // An owner is answered in order: who is told in this step is told before the next reader.
    Waiting next = Await("reader/many");
    runner_.Must(Claim(step, {1}, 1));
    EXPECT_EQ(Told(&next), absl::OkStatus());
    for (const int i : gone)
      EXPECT_EQ(IsTold(many[i]), i < 1000 * step) << i << " in step " << step;
  }
}

TEST_F(AwaitingTest, WhoIsCancelledLeaves) {
  MakeProviders(runner_, 1, 8, 1024);
  Waiting gone = Await("reader/a");
  Waiting here = Await("reader/a");
  gone.cancelled->store(true);
  runner_.ledger().Watchdog();
  EXPECT_EQ(Told(&gone).code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(IsTold(here));
  runner_.Must(Claim(1, {1}, 1));
  EXPECT_EQ(Told(&here), absl::OkStatus());
}

}  // namespace
}  // namespace berth::placement
