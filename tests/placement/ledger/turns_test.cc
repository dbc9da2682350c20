// One caller's commands leave room for those of others.
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

}  // namespace
}  // namespace berth::placement
