// Reports that placement refuses because the tracker has used up its day: the tracker asks again no
// sooner than it audits, says so in one line, and takes claims meanwhile.
#include <atomic>
#include <chrono>

#include "gtest/gtest.h"
#include "tests/tracker/uplink/claim_fixture.h"
#include "tracker/ground/boot_clock.h"

namespace berth::tracker {
namespace {

using Fate = FakePlacement::Fate;

constexpr char kRefused[] = "placement refused the report of node n1";

class DailyLimitTest : public ClaimTest {
 protected:
  void Open() {
    placement_->fate = [this](const placement::v1::Report&) {
      return spent_ ? Fate::kDaily : Fate::kAck;
    };
    uplink_ = Connect(*placement_);
    ASSERT_TRUE(Eventually([this] { return node_->view().reports_rejected == 1; }));
  }
  // Waits until the session has had several chances to send a report.
  bool AwaitBeats() {
    const int64_t beats = uplink_->status().heartbeats;
    return Eventually([&] { return uplink_->status().heartbeats > beats + 3; });
  }

  std::atomic<bool> spent_ = true;
};

TEST_F(DailyLimitTest, PassesDoNotAskAgainBeforeTheIntervalIsOver) {
  Open();
  for (int i = 0; i < 3; ++i) {
    Pass();
    uplink_->Notify();
    ASSERT_TRUE(AwaitBeats());
  }
  EXPECT_EQ(placement_->reports().size(), 1u);
  EXPECT_EQ(Logged(kRefused), 1);
  EXPECT_EQ(uplink_->status().sessions, 1);
}

TEST_F(DailyLimitTest, ClaimsGoOn) {
  Open();
  const ClaimCall call = Claim(ledger_.Create(kGuest));
  ASSERT_TRUE(Answered(call));
  EXPECT_TRUE(call.result->ok()) << call.result->status();
  EXPECT_EQ(ledger_.Find(kGuest).node_uuid(), uuid_);
  EXPECT_EQ(placement_->reports().size(), 1u);
}

// The interval is shorter than the pause after any other refusal that may pass, which is two seconds.
TEST_F(DailyLimitTest, AfterTheIntervalTheReportIsSentAgain) {
  Node::Options options = node_->options();
  options.pass_interval = std::chrono::milliseconds(100);
  node_ = std::make_unique<Node>(options, &pool_, [](const HypervisorEvent&) {});
  Pass();
  Open();
  const auto refused_at = BootClock::now();
  ASSERT_TRUE(Eventually([this] { return node_->view().reports_rejected == 2; }));
  EXPECT_GT(BootClock::now() - refused_at, std::chrono::milliseconds(1500));
  // Beyond the four tries that other refusals have, though no pass runs (T-44).
  for (const int64_t refusals : {3, 4, 5}) {
    ASSERT_TRUE(Eventually([&] { return node_->view().reports_rejected >= refusals; }));
  }
  EXPECT_EQ(Logged(kRefused), 1);  // the same words
  spent_ = false;
  ASSERT_TRUE(Settles());
  EXPECT_EQ(node_->view().acknowledged_sequence, 1);
  EXPECT_EQ(placement_->reports().size(), 6u);
}

}  // namespace
}  // namespace berth::tracker
