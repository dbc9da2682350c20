// Sessions of trackers with certificates, over a real ledger, without gRPC.
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "google/rpc/error_details.pb.h"
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
  ::testing::internal::CaptureStderr();
  PlayedTracker other(&sessions, "h1", node_, {.host = "refused-host"});
  ASSERT_TRUE(other.SayHello());
  EXPECT_EQ(EndReason(other), "POLICY_DENIED");
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(absl::StrContains(log,
                                "a call was refused caller=tracker/refused-host "
                                "method=berth.placement.v1.ReportService/Session "
                                "reason=POLICY_DENIED"))
      << log;
  EXPECT_EQ(runner_.ledger().Newest()->services().Find({"h1", "berth-tracker"}), nullptr);

  PlayedTracker own(&sessions, "h1", node_, {.host = "h1"});
  EXPECT_TRUE(own.Introduce());
}

// Keeps batches from beginning while it is closed.
struct Gate {
  std::promise<void> open;
  const std::shared_future<void> opened = open.get_future().share();
  std::atomic<bool> closed{false};
};

// A ledger whose queue has room for one command of each kind.
class FullQueueSessionTest : public ReportSessionTest {
 protected:
  explicit FullQueueSessionTest(const std::shared_ptr<Gate>& gate = std::make_shared<Gate>())
      : ReportSessionTest([gate](placement::LedgerOptions* options) {
          options->queue_max = 1;
          options->at_step = [gate](placement::LedgerStep step) {
            if (step == placement::LedgerStep::kBeforeLock && gate->closed) gate->opened.wait();
          };
        }),
        gate_(gate) {}

  const std::shared_ptr<Gate> gate_;
};

TEST_F(FullQueueSessionTest, AHelloThatIsRefusedIsLogged) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker first(&sessions, "h1", node_);
  // With a name of its own: the log has one line a second for each caller and reason.
  PlayedTracker second(&sessions, "h2", placement::ProviderId{placement::Uuid::Random()},
                       {.host = "h2", .not_after = absl::Now() + absl::Hours(1)});
  gate_->closed = true;
  auto claim = runner_.Begin(placement::WithId(placement::NewProvider(1), ""));
  EXPECT_TRUE(placement::LedgerRunner::Eventually(
      [this] { return runner_.ledger().health().queue_length == 0; }));
  EXPECT_TRUE(first.SayHello());
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(second.SayHello());
  EXPECT_EQ(EndReason(second), "OVERLOADED");
  const std::string log = ::testing::internal::GetCapturedStderr();
  gate_->open.set_value();
  EXPECT_TRUE(absl::StrContains(log, "ReportService/Session reason=OVERLOADED")) << log;
  EXPECT_TRUE(claim.get().status.ok());
  EXPECT_TRUE(first.Next().has_welcome());
}

TEST_F(ReportSessionTest, AStreamEndsWithItsCertificate) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_,
                        {.host = "h1", .not_after = absl::Now() - absl::Seconds(1)});
  ASSERT_TRUE(tracker.SayHello());
  EXPECT_EQ(EndReason(tracker), "UNAUTHENTICATED");
}

// A tracker of h2 with a certificate, whose identity file has the uuid of a node of h1.
TEST_F(ReportSessionTest, ATrackerWithACertificateTakesNoNodeOver) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  int64_t generation = 0;
  {
    PlayedTracker owner(&sessions, "h1", node_, {.host = "h1"});
    ASSERT_TRUE(owner.SayHello());
    ASSERT_TRUE(owner.Next().has_welcome());
    ASSERT_TRUE(owner.SayReport(1, 8, std::nullopt, true));
    generation = owner.Next().ack().generations(0).generation();
  }
  runner_.Must(placement::UpdateService{"h1", "berth-tracker", std::nullopt, "", true});
  PlayedTracker tracker(&sessions, "h2", node_, {.host = "h2"});
  ASSERT_TRUE(tracker.SayHello());
  const pb::NodeWelcome welcome = tracker.Next().welcome().nodes(0);
  EXPECT_EQ(welcome.standing(), pb::NODE_STANDING_STANDBY);  // T-22, T-387
  EXPECT_FALSE(welcome.has_recorded()) << welcome.ShortDebugString();
  AwaitWorker();
  ASSERT_TRUE(tracker.SayReport(1, 8, generation, true));
  const pb::Reject reject = tracker.Next().reject();
  EXPECT_EQ(reject.status().code(), static_cast<int>(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(reject.providers_size(), 0);
  EXPECT_FALSE(tracker.got_all());
  pb::SessionRequest nameless;
  nameless.mutable_report()->set_node_uuid(node_.ToString());
  nameless.mutable_report()->set_sequence(1);
  nameless.mutable_report()->set_kind(pb::REPORT_KIND_DELTA);
  ASSERT_TRUE(tracker.Say(nameless));
  const std::string refusal = tracker.Next().reject().status().message();
  EXPECT_FALSE(refusal.empty());
  EXPECT_FALSE(absl::StrContains(refusal, "h1")) << refusal;  // the name of the node

  runner_.Must(placement::MoveNode{node_, "h1", "h2", std::nullopt});
  ASSERT_TRUE(tracker.SayHello());
  const pb::NodeWelcome again = tracker.Next().welcome().nodes(0);
  EXPECT_EQ(again.standing(), pb::NODE_STANDING_SEND_ALL);
  EXPECT_EQ(again.recorded().host(), "h2");
  EXPECT_TRUE(tracker.GetsAll());
  ASSERT_TRUE(tracker.SayReport(1, 16, generation, true));
  EXPECT_EQ(tracker.Next().ack().sequence(), 1);
  tracker.Close();
}

TEST_F(ReportSessionTest, ATrackerWithACertificateGetsATreeFromAnOperator) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  runner_.Must(placement::CreateProvider{node_, "h1", std::nullopt});
  const auto generation = [this] {
    return runner_.ledger().Newest()->FindProvider(node_)->config().generation.value;
  };
  PlayedTracker tracker(&sessions, "h1", node_, {.host = "h1"});
  ASSERT_TRUE(tracker.SayHello());
  EXPECT_EQ(tracker.Next().welcome().nodes(0).standing(), pb::NODE_STANDING_STANDBY);  // T-22
  ASSERT_TRUE(tracker.SayReport(1, 8, generation(), true));
  EXPECT_TRUE(tracker.Next().has_reject());  // T-22, T-387
  EXPECT_FALSE(tracker.got_all());
  runner_.Must(placement::CreateNode{node_, "h1", "h1"});
  ASSERT_TRUE(tracker.SayHello());
  EXPECT_EQ(tracker.Next().welcome().nodes(0).standing(), pb::NODE_STANDING_SEND_ALL);
  EXPECT_TRUE(tracker.GetsAll());
  ASSERT_TRUE(tracker.SayReport(1, 8, generation(), true));
  EXPECT_EQ(tracker.Next().ack().sequence(), 1);
  tracker.Close();
}

// The tracker has said Hello before there was a tree with the uuid of its node, so the session was
// told of nothing that happened to the tree since.
TEST_F(ReportSessionTest, ATrackerIsToldOfATreeThatCameAfterItsHello) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_, {.host = "h1"});
  ASSERT_TRUE(tracker.SayHello());
  EXPECT_EQ(tracker.Next().welcome().nodes(0).standing(), pb::NODE_STANDING_SEND_ALL);
  runner_.Must(placement::CreateProvider{node_, "h1", std::nullopt});
  const placement::ProviderId child{placement::Uuid::Random()};
  runner_.Must(placement::CreateProvider{child, "child", node_});
  AwaitWorker();
  EXPECT_FALSE(tracker.got_all());
  runner_.Must(placement::CreateNode{node_, "h1", "h1"});
  EXPECT_TRUE(tracker.AwaitPush(
      [&](const pb::Push& push) { return push.complete() && push.providers_size() == 2; }));
  tracker.Close();
}

// The answer to a write of another host's record is that to a write of one that does not exist.
TEST_F(ReportSessionTest, ATrackerWithACertificateIsToldOfNoOtherRecords) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  placement::InstanceRecord record;
  record.id = placement::InstanceId{placement::Uuid::Random()};
  record.project = record.user = record.vm_state = "any";
  record.host = "h1";
  runner_.Must(placement::SetInstance{record, std::nullopt});
  PlayedTracker tracker(&sessions, "h2", node_, {.host = "h2"});
  ASSERT_TRUE(tracker.Introduce());
  const auto told = [&](const std::string& uuid) {
    pb::SessionRequest request;
    pb::RecordWrite& write = *request.mutable_record_write();
    write.set_node_uuid(node_.ToString());
    write.mutable_instance()->set_uuid(uuid);
    write.mutable_instance()->set_generation(1);
    write.mutable_instance()->set_host("h2");
    write.mutable_instance()->set_node_uuid(node_.ToString());
    EXPECT_TRUE(tracker.Say(request));
    pb::RecordAnswer answer = tracker.Next().record_answer();
    EXPECT_EQ(answer.status().code(), static_cast<int>(absl::StatusCode::kPermissionDenied));
    EXPECT_EQ(answer.instances_size(), 0);
    google::rpc::ErrorInfo info;
    EXPECT_TRUE(answer.status().details_size() == 1 && answer.status().details(0).UnpackTo(&info));
    answer.mutable_status()->clear_details();
    const std::string text = answer.ShortDebugString() + " " + info.ShortDebugString();
    return absl::StrReplaceAll(text, {{uuid, "id"}});
  };
  EXPECT_EQ(told(record.id.ToString()), told(placement::Uuid::Random().ToString()));  // T-386
  tracker.Close();
}

}  // namespace
}  // namespace berth::services
