// A tracker's stream, as placement answers it: hello, reports, pushes, orders, fencing (T-226..T-232).
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <optional>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "berth/placement/v1/report.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/client_context.h"
#include "placement/uuid.h"
#include "tests/e2e/placement_server.h"

namespace berth::e2e {
namespace {

namespace pb = ::berth::placement::v1;

std::string Random() { return placement::Uuid::Random().ToString(); }

std::string ReasonOf(const std::string& details) {
  google::rpc::Status status;
  google::rpc::ErrorInfo info;
  if (!status.ParseFromString(details) || status.details().empty()) return "";
  status.details(0).UnpackTo(&info);
  return info.reason();
}

// One tracker process with one node.
class Tracker {
 public:
  Tracker(const std::shared_ptr<grpc::Channel>& channel, const std::string& host,
          const std::string& node)
      : stub_(pb::ReportService::NewStub(channel)), host_(host), node_(node) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
    stream_ = stub_->Session(&context_);
  }

  void Hello(const std::string& digest, const std::string& machine = "m1",
             const std::optional<pb::Revision>& pushed = std::nullopt) {
    pb::SessionRequest request;
    pb::Hello& hello = *request.mutable_hello();
    hello.set_host(host_);
    hello.set_binary("berth-tracker");
    hello.set_incarnation(incarnation_);
    hello.set_machine_id(machine);
    pb::NodeDigest* named = hello.add_nodes();
    named->set_node_uuid(node_);
    named->set_node_name(host_);
    named->set_digest(digest);
    if (pushed) *named->mutable_pushed_revision() = *pushed;
    stream_->Write(request);
  }

  // A snapshot of a root with `vcpus` and, if there is one, a generation that it is based on.
  void Snapshot(int64_t sequence, int64_t vcpus, std::optional<int64_t> base) {
    pb::SessionRequest request;
    pb::Report& report = *request.mutable_report();
    report.set_node_uuid(node_);
    report.set_node_name(host_);
    report.set_sequence(sequence);
    report.set_kind(pb::REPORT_KIND_SNAPSHOT);
    report.set_digest(absl::StrCat("digest-", vcpus));
    report.mutable_facts()->set_vcpus(static_cast<int32_t>(vcpus));
    report.mutable_audit();
    pb::WantedProvider* root = report.add_providers();
    root->set_uuid(node_);
    root->set_name(host_);
    if (base) root->set_base_generation(*base);
    (*root->mutable_inventories())["VCPU"].set_total(vcpus);
    root->add_traits_present("COMPUTE_NODE");
    stream_->Write(request);
  }

  void Beat(int64_t count) {
    pb::SessionRequest request;
    request.mutable_heartbeat()->set_count(count);
    stream_->Write(request);
  }

  // The next message but pushes, which are kept in `pushes`; nothing where the stream has ended.
  pb::SessionResponse Next() {
    pb::SessionResponse response;
    while (stream_->Read(&response)) {
      if (!response.has_push()) return response;
      told_up_to = response.revision();
      pushes.push_back(response.push());
    }
    return pb::SessionResponse();
  }
  pb::Push NextPush() {
    pb::SessionResponse response;
    while (stream_->Read(&response)) {
      if (!response.has_push()) continue;
      told_up_to = response.revision();
      return response.push();
    }
    return pb::Push();
  }
  grpc::Status End() {
    stream_->WritesDone();
    pb::SessionResponse rest;
    while (stream_->Read(&rest)) {
    }
    return stream_->Finish();
  }

  // Says Hello and sends its first snapshot; the root's generation.
  int64_t Appear(int64_t vcpus) {
    Hello("");
    EXPECT_EQ(Next().welcome().nodes(0).standing(), pb::NODE_STANDING_SEND_ALL);
    Snapshot(1, vcpus, std::nullopt);
    const pb::Ack ack = Next().ack();
    EXPECT_EQ(ack.sequence(), 1);
    return ack.generations().empty() ? -1 : ack.generations(0).generation();
  }

  grpc::ClientReaderWriter<pb::SessionRequest, pb::SessionResponse>& stream() { return *stream_; }
  std::vector<pb::Push> pushes;
  pb::Revision told_up_to;  // of the last push

 private:
  std::unique_ptr<pb::ReportService::Stub> stub_;
  const std::string host_;
  const std::string node_;
  const std::string incarnation_ = Random();
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<pb::SessionRequest, pb::SessionResponse>> stream_;
};

class SessionTest : public ::testing::Test {
 protected:
  SessionTest()
      : server_(StartOrDie(scratch_.path(), {"--service-down-time=2s"})),
        channel_(grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials())) {}

  pb::Node GetNode() {
    const auto stub = pb::FleetService::NewStub(channel_);
    grpc::ClientContext context;
    pb::GetNodeRequest request;
    request.set_node_uuid(node_);
    request.set_view(pb::NODE_VIEW_FULL);
    pb::GetNodeResponse response;
    const grpc::Status status = stub->GetNode(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.node();
  }

  // Claims `amount` VCPU of the node; the consumer's uuid.
  std::string Claim(int64_t amount) {
    const auto stub = pb::AllocationService::NewStub(channel_);
    grpc::ClientContext context;
    pb::SetAllocationsRequest request;
    pb::ConsumerAllocations* consumer = request.add_consumers();
    consumer->set_consumer_uuid(Random());
    consumer->mutable_new_consumer();
    consumer->set_project_id("p");
    consumer->set_user_id("u");
    consumer->set_consumer_type("INSTANCE");
    consumer->add_allocations()->set_provider_uuid(node_);
    (*consumer->mutable_allocations(0)->mutable_resources())["VCPU"] = amount;
    pb::SetAllocationsResponse response;
    const grpc::Status status = stub->SetAllocations(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return consumer->consumer_uuid();
  }

  placement::ScratchDirectory scratch_;
  std::unique_ptr<PlacementServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  const std::string node_ = Random();
  const std::string host_ = "host-" + Random();
};

TEST_F(SessionTest, AHostAppearsWithItsFirstSnapshot) {  // T-226
  Tracker tracker(channel_, host_, node_);
  tracker.Hello("");
  const pb::SessionResponse welcome = tracker.Next();
  ASSERT_TRUE(welcome.has_welcome());
  EXPECT_TRUE(welcome.welcome().service_created());
  EXPECT_EQ(welcome.welcome().service().host(), host_);
  EXPECT_EQ(welcome.welcome().heartbeat_interval().nanos(), 333'333'333);  // of 2 s to be down
  ASSERT_EQ(welcome.welcome().nodes_size(), 1);
  EXPECT_EQ(welcome.welcome().nodes(0).standing(), pb::NODE_STANDING_SEND_ALL);
  EXPECT_FALSE(welcome.welcome().nodes(0).has_recorded());
  tracker.Snapshot(1, 16, std::nullopt);
  const pb::SessionResponse ack = tracker.Next();
  ASSERT_TRUE(ack.has_ack()) << ack.ShortDebugString();
  EXPECT_EQ(ack.ack().generations(0).provider_uuid(), node_);
  const pb::Node node = GetNode();
  EXPECT_EQ(node.host(), host_);
  EXPECT_EQ(node.facts().vcpus(), 16);
  EXPECT_EQ(node.state(), pb::SERVICE_STATE_UP);
  EXPECT_TRUE(tracker.End().ok());
}

TEST_F(SessionTest, AnUnchangedHostIsKnownWithoutAWrite) {
  {
    Tracker tracker(channel_, host_, node_);
    tracker.Appear(16);
    tracker.End();
  }
  Tracker again(channel_, host_, node_);
  again.Hello("digest-16");
  const pb::SessionResponse known = again.Next();
  EXPECT_EQ(known.welcome().nodes(0).standing(), pb::NODE_STANDING_KNOWN);
  EXPECT_FALSE(known.welcome().service_created());
  EXPECT_EQ(known.welcome().nodes(0).recorded().host(), host_);
  again.End();
  Tracker other(channel_, host_, node_);
  other.Hello("another digest");
  EXPECT_EQ(other.Next().welcome().nodes(0).standing(), pb::NODE_STANDING_SEND_ALL);
  other.End();
}

TEST_F(SessionTest, AStaleReportIsRejectedWithWhatStands) {  // T-229
  Tracker tracker(channel_, host_, node_);
  const int64_t generation = tracker.Appear(16);
  tracker.Snapshot(2, 20, generation + 100);
  const pb::SessionResponse rejected = tracker.Next();
  ASSERT_TRUE(rejected.has_reject()) << rejected.ShortDebugString();
  EXPECT_EQ(ReasonOf(rejected.reject().status().SerializeAsString()),
            "PROVIDER_GENERATION_CONFLICT");
  ASSERT_EQ(rejected.reject().providers_size(), 1);
  EXPECT_EQ(rejected.reject().providers(0).generation(), generation);
  tracker.Snapshot(3, 20, generation);
  EXPECT_EQ(tracker.Next().ack().sequence(), 3);
  EXPECT_EQ(GetNode().facts().vcpus(), 20);
  tracker.End();
}

TEST_F(SessionTest, ADeltaThatSkipsIsAnsweredWithAnOrder) {  // T-229
  Tracker tracker(channel_, host_, node_);
  tracker.Appear(16);
  pb::SessionRequest request;
  pb::Report& report = *request.mutable_report();
  report.set_node_uuid(node_);
  report.set_sequence(5);
  report.set_kind(pb::REPORT_KIND_DELTA);
  report.set_digest("x");
  report.mutable_audit();
  tracker.stream().Write(request);
  EXPECT_EQ(tracker.Next().snapshot_order().node_uuid(), node_);
  tracker.End();
}

TEST_F(SessionTest, ClaimsArePushed) {  // T-228
  Tracker tracker(channel_, host_, node_);
  tracker.Appear(16);
  const pb::Push everything = tracker.pushes.empty() ? tracker.NextPush() : tracker.pushes[0];
  EXPECT_TRUE(everything.complete());
  ASSERT_EQ(everything.providers_size(), 1);
  const std::string consumer = Claim(3);
  const pb::Push push = tracker.NextPush();
  EXPECT_FALSE(push.complete());
  ASSERT_EQ(push.consumers_size(), 1);
  EXPECT_EQ(push.consumers(0).uuid(), consumer);
  EXPECT_EQ(push.consumers(0).allocations(0).resources().at("VCPU"), 3);
  tracker.End();
}

TEST_F(SessionTest, WhoComesBackIsToldWhatChanged) {  // T-226, T-228
  pb::Revision told;
  {
    Tracker tracker(channel_, host_, node_);
    tracker.Appear(16);
    while (!tracker.NextPush().complete()) {
    }
    Claim(1);
    EXPECT_EQ(tracker.NextPush().consumers_size(), 1);
    told = tracker.told_up_to;
    tracker.End();
  }
  const std::string consumer = Claim(3);
  {
    Tracker back(channel_, host_, node_);
    back.Hello("digest-16", "m1", told);
    EXPECT_TRUE(back.Next().has_welcome());
    const pb::Push push = back.pushes.empty() ? back.NextPush() : back.pushes[0];
    EXPECT_FALSE(push.complete());
    EXPECT_EQ(push.providers_size(), 0);
    std::set<std::string> told_again;
    for (const pb::Consumer& one : push.consumers()) told_again.insert(one.uuid());
    EXPECT_EQ(told_again.count(consumer), 1U) << push.ShortDebugString();
    EXPECT_GE(back.told_up_to.number(), told.number());
    back.End();
  }
  // Of another epoch, or of a future that is none: what it saw may have been lost.
  for (const auto& [epoch, number] :
       {std::pair<int64_t, int64_t>(2, told.number()), std::pair<int64_t, int64_t>(1, 1 << 20)}) {
    pb::Revision elsewhere;
    elsewhere.set_epoch(epoch);
    elsewhere.set_number(number);
    Tracker lost(channel_, host_, node_);
    lost.Hello("digest-16", "m1", elsewhere);
    EXPECT_TRUE(lost.Next().has_welcome());
    EXPECT_TRUE((lost.pushes.empty() ? lost.NextPush() : lost.pushes[0]).complete());
    lost.End();
  }
}

TEST_F(SessionTest, ANewerProcessTakesOver) {  // T-14
  Tracker older(channel_, host_, node_);
  older.Appear(16);
  Tracker newer(channel_, host_, node_);
  newer.Hello("digest-16");
  EXPECT_TRUE(newer.Next().has_welcome());
  EXPECT_FALSE(older.Next().has_ack());  // the end of the stream
  const grpc::Status ended = older.End();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(ReasonOf(ended.error_details()), "TRACKER_FENCED");
  Tracker elsewhere(channel_, host_, node_);
  elsewhere.Hello("", "m2");
  EXPECT_FALSE(elsewhere.Next().has_welcome());
  EXPECT_EQ(ReasonOf(elsewhere.End().error_details()), "SERVICE_IN_USE");
  newer.End();
}

TEST_F(SessionTest, SilenceTurnsAServiceDownAndABeatUp) {  // T-291
  Tracker tracker(channel_, host_, node_);
  tracker.Appear(16);
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (GetNode().state() == pb::SERVICE_STATE_UP && absl::Now() < deadline) {
  }
  EXPECT_EQ(GetNode().state(), pb::SERVICE_STATE_DOWN);
  tracker.Beat(1);
  while (GetNode().state() == pb::SERVICE_STATE_DOWN && absl::Now() < deadline) {
  }
  EXPECT_EQ(GetNode().state(), pb::SERVICE_STATE_UP);
  tracker.End();
}

TEST_F(SessionTest, AnAuditIsOrderedAndAnswered) {
  Tracker tracker(channel_, host_, node_);
  tracker.Appear(16);
  pb::AuditNodeResponse response;
  grpc::Status status;
  std::thread asking([&] {
    const auto stub = pb::FleetService::NewStub(channel_);
    grpc::ClientContext context;
    pb::AuditNodeRequest request;
    request.set_node_uuid(node_);
    status = stub->AuditNode(&context, request, &response);
  });
  const pb::AuditOrder order = tracker.Next().audit_order();
  EXPECT_EQ(order.node_uuid(), node_);
  pb::SessionRequest done;
  done.mutable_audit_done()->set_order_id(order.order_id());
  (*done.mutable_audit_done()->mutable_audits())[node_].set_message("all is well");
  tracker.stream().Write(done);
  asking.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.audit().message(), "all is well");
  tracker.End();
}

TEST_F(SessionTest, MalformedStreamsEndWithTheReason) {
  Tracker silent(channel_, host_, node_);
  silent.Beat(1);
  EXPECT_EQ(ReasonOf(silent.End().error_details()), "INVALID_FIELD");
  Tracker liar(channel_, host_, node_);
  liar.Hello("");
  EXPECT_TRUE(liar.Next().has_welcome());
  pb::SessionRequest request;
  request.mutable_report()->set_node_uuid(Random());
  request.mutable_report()->set_kind(pb::REPORT_KIND_SNAPSHOT);
  liar.stream().Write(request);
  EXPECT_EQ(ReasonOf(liar.End().error_details()), "INVALID_FIELD");
}

TEST_F(SessionTest, StreamsEndWhenPlacementStops) {
  Tracker tracker(channel_, host_, node_);
  tracker.Appear(16);
  server_->Signal(SIGTERM);
  EXPECT_FALSE(tracker.Next().has_ack());
  const grpc::Status ended = tracker.End();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(ended.error_details()), "NOT_SERVING");
  EXPECT_EQ(server_->AwaitEnd(absl::Seconds(40)), 0);
}

}  // namespace
}  // namespace berth::e2e
