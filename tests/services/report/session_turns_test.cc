// What sessions of trackers queue comes after claims, and at the workers before reads.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "tests/services/report/session_fixture.h"

namespace berth::services {
namespace {

using placement::LedgerRunner;
using placement::Priority;

TEST_F(ReportSessionTest, AWelcomeComesAfterClaimsAndBeforeReads) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  std::promise<void> go_on;
  BlockWorker(&go_on);
  double before_claim = -1, before_read = -1;
  std::promise<void> read;
  ASSERT_TRUE(workers_.Submit(
      {"reader/a", Priority::kReads},
      [&] {
        before_read = Attached(sessions);
        read.set_value();
      },
      [] {}));
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.SayHello());
  // The other one follows the feed.
  ASSERT_TRUE(LedgerRunner::Eventually([this] { return workers_.queue_length() == 3; }));
  ASSERT_TRUE(workers_.Submit(
      {"scheduler/a", Priority::kFirst}, [&] { before_claim = Attached(sessions); }, [] {}));
  go_on.set_value();
  read.get_future().wait();
  EXPECT_EQ(before_claim, 0);
  EXPECT_EQ(before_read, 1);
}

TEST_F(ReportSessionTest, ACommandOfASessionComesAfterClaims) {
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  std::atomic<bool> closed{false};
  placement::LedgerOptions options = placement::OptionsFor(placement::NewDatabase());
  options.batch_weight_max = 1;  // each command has a revision of its own
  options.at_step = [&](placement::LedgerStep step) {
    if (step == placement::LedgerStep::kBeforeLock && closed) opened.wait();
  };
  LedgerRunner runner(options);
  ReportSessions sessions(&runner.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  const auto create = [&](int number) {
    return runner.Begin(placement::WithId(placement::NewProvider(number), ""));
  };
  const auto waiting = [&runner](int64_t commands) {
    return LedgerRunner::Eventually(
        [&] { return runner.ledger().health().queue_length == commands; });
  };
  closed = true;
  auto first = create(1);
  ASSERT_TRUE(waiting(0));
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.SayHello());
  ASSERT_TRUE(waiting(1));
  auto second = create(2);
  ASSERT_TRUE(waiting(2));
  gate.set_value();
  ASSERT_TRUE(tracker.Next().has_welcome());
  const placement::StatePtr state = runner.ledger().Recent(second.get().revision);
  ASSERT_NE(state, nullptr);
  EXPECT_EQ(state->services().Find({"h1", "berth-tracker"}), nullptr);
  EXPECT_EQ(first.get().status, absl::OkStatus());
}

// A tracker without a certificate invents its host. So it has no turn of its own, and no share of a
// full queue.
TEST_F(ReportSessionTest, AnInventedHostIsNoOwner) {
  for (const bool identified : {false, true}) {
    Workers workers(1, 4);
    ReportSessions sessions(&runner_.ledger(), &workers, &recorder_);
    std::promise<void> go_on;
    std::promise<void> busy;
    const auto wait = [&] {
      busy.set_value();
      go_on.get_future().wait();
    };
    ASSERT_TRUE(workers.Submit({}, wait, [] {}));
    busy.get_future().wait();
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(workers.Submit(
          {"anonymous", Priority::kSessions}, [] {}, [] {}));
    }
    {
      PlayedTracker tracker(&sessions, "h1", node_, {identified ? "h1" : ""});
      EXPECT_TRUE(tracker.SayHello());
      EXPECT_TRUE(LedgerRunner::Eventually([&] { return workers.refused_count() == 1; }));
      EXPECT_TRUE(LedgerRunner::Eventually([&] { return tracker.ended() || identified; }));
      EXPECT_NE(tracker.ended(), identified);
      go_on.set_value();
      EXPECT_EQ(tracker.Next().has_welcome(), identified);
    }
    // Until nothing uses the sessions any more; work may submit more work.
    for (int i = 0; i < 3; ++i) {
      LedgerRunner::Eventually([&] { return workers.queue_length() == 0; });
      std::promise<void> reached;
      ASSERT_TRUE(workers.Submit(
          {"", Priority::kBulk}, [&reached] { reached.set_value(); }, [] {}));
      reached.get_future().wait();
    }
  }
}

}  // namespace
}  // namespace berth::services
