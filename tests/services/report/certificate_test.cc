// Sessions of trackers with certificates, over a real ledger, without gRPC.
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "services/report/session.h"
#include "tests/services/report/session_fixture.h"

namespace berth::services {
namespace {

std::string EndReason(PlayedTracker& tracker) {
  const std::optional<absl::Status> end = tracker.End();
  if (!end) return "the stream did not end";
  const auto refusal = placement::RefusalOf(*end);
  return refusal ? refusal->reason : end->ToString();
}

TEST_F(ReportSessionTest, ATrackerIsOnTheHostOfItsCertificate) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker other(&sessions, "h1", node_, {.host = "h2"});
  ASSERT_TRUE(other.SayHello());
  EXPECT_EQ(EndReason(other), "POLICY_DENIED");
  EXPECT_EQ(runner_.ledger().Newest()->services().Find({"h1", "berth-tracker"}), nullptr);

  PlayedTracker own(&sessions, "h1", node_, {.host = "h1"});
  EXPECT_TRUE(own.Introduce());
}

TEST_F(ReportSessionTest, AStreamEndsWithItsCertificate) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_,
                        {.host = "h1", .not_after = absl::Now() - absl::Seconds(1)});
  ASSERT_TRUE(tracker.SayHello());
  EXPECT_EQ(EndReason(tracker), "UNAUTHENTICATED");
}

}  // namespace
}  // namespace berth::services
