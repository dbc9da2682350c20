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
#include "placement/ground/uuid.h"
#include "tests/e2e/calls.h"
#include "tests/processes/identity.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/private_cluster.h"
#include "tests/processes/scripted_tracker.h"

namespace berth::e2e {
namespace {

std::string ReasonIn(const std::string& details) {
  google::rpc::Status status;
  google::rpc::ErrorInfo info;
  if (!status.ParseFromString(details) || status.details().empty()) return "";
  status.details(0).UnpackTo(&info);
  return info.reason();
}

class SessionTest : public ::testing::Test {
 protected:
  SessionTest()
      : server_(StartOrDie(scratch_.path())),
        channel_(grpc::CreateChannel(server_->address(), CredentialsOf())) {}

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
  std::string Claim(int64_t amount) { return Claim(amount, node_, "VCPU"); }
  std::string Claim(int64_t amount, const std::string& provider, const char* resource_class) {
    const auto stub = pb::AllocationService::NewStub(channel_);
    grpc::ClientContext context;
    const pb::SetAllocationsRequest request = ClaimOn(provider, amount, resource_class);
    pb::SetAllocationsResponse response;
    const grpc::Status status = stub->SetAllocations(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return request.consumers(0).consumer_uuid();
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
  EXPECT_EQ(ReasonIn(rejected.reject().status().SerializeAsString()),
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
    EXPECT_TRUE((tracker.pushes.empty() ? tracker.NextPush() : tracker.pushes[0]).complete());
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

// A node's record can outlive its providers. Its tracker waits for what is recorded: it is told that
// there is nothing, and reports in full.
TEST_F(SessionTest, ANodeWithoutProvidersIsToldSo) {
  const std::string url = placement::NewDatabase();
  server_ = StartAt(scratch_.path(), url);
  channel_ = grpc::CreateChannel(server_->address(), CredentialsOf());
  {
    Tracker tracker(channel_, host_, node_);
    tracker.Appear(16);
    tracker.End();
  }
  server_.reset();
  ASSERT_TRUE(placement::ConnectOrDie(url)
                  ->Run("DELETE FROM provider WHERE id = '" + node_ + "'", nullptr)
                  .ok());
  server_ = StartAt(scratch_.path(), url);
  channel_ = grpc::CreateChannel(server_->address(), CredentialsOf());
  Tracker again(channel_, host_, node_);
  again.Hello("digest-16");
  const pb::SessionResponse welcome = again.Next();
  EXPECT_EQ(welcome.welcome().nodes(0).standing(), pb::NODE_STANDING_SEND_ALL);
  const pb::Push nothing = again.NextPush();
  EXPECT_TRUE(nothing.complete());
  EXPECT_EQ(nothing.node_uuid(), node_);
  EXPECT_TRUE(nothing.providers().empty());
  again.Snapshot(1, 16, std::nullopt);
  EXPECT_EQ(again.Next().ack().generations(0).provider_uuid(), node_);
  EXPECT_EQ(GetNode().facts().vcpus(), 16);
  again.End();
}

// What a report could not bring about is told with its acknowledgement (P-89, T-196).
TEST_F(SessionTest, AnAckSaysWhatStays) {
  Tracker tracker(channel_, host_, node_);
  const int64_t generation = tracker.Appear(16);
  const std::string device = Random();
  pb::SessionRequest request = tracker.MakeSnapshot(2, 16, generation);
  pb::WantedProvider* child = request.mutable_report()->add_providers();
  child->set_uuid(device);
  child->set_name("device-" + device);
  child->set_parent_uuid(node_);
  (*child->mutable_inventories())["VGPU"].set_total(4);
  child->add_traits_present("OWNER_NOVA");
  tracker.stream().Write(request);
  const pb::Ack made = tracker.Next().ack();
  ASSERT_EQ(made.generations_size(), 2) << made.ShortDebugString();
  Claim(3, device, "VGPU");
  (*child->mutable_inventories())["VGPU"].set_total(2);
  request.mutable_report()->mutable_providers(0)->set_base_generation(
      made.generations(0).generation());
  child->set_base_generation(made.generations(1).generation());
  request.mutable_report()->set_sequence(3);
  request.mutable_report()->set_digest("smaller");
  tracker.stream().Write(request);
  const pb::Ack smaller = tracker.Next().ack();
  ASSERT_EQ(smaller.overcommitted_size(), 1) << smaller.ShortDebugString();
  EXPECT_EQ(smaller.overcommitted(0).provider_uuid(), device);
  EXPECT_EQ(smaller.overcommitted(0).classes(0).resource_class(), "VGPU");
  tracker.Snapshot(4, 16, smaller.generations(0).generation());
  const pb::Ack kept = tracker.Next().ack();
  ASSERT_EQ(kept.warnings_size(), 1) << kept.ShortDebugString();
  EXPECT_THAT(kept.warnings(0), ::testing::HasSubstr(device));
  tracker.End();
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
  EXPECT_EQ(ReasonIn(ended.error_details()), "TRACKER_FENCED");
  Tracker elsewhere(channel_, host_, node_);
  elsewhere.Hello("", "m2");
  EXPECT_FALSE(elsewhere.Next().has_welcome());
  EXPECT_EQ(ReasonIn(elsewhere.End().error_details()), "SERVICE_IN_USE");
  newer.End();
}

// Both processes write the same records, and the last report sets the address of the node.
TEST_F(SessionTest, TwoProcessesOfAHostShareItsRecords) {
  const auto report = [](Tracker* tracker, int64_t sequence, std::optional<int64_t> base,
                         const char* address) {
    pb::SessionRequest request = tracker->MakeSnapshot(sequence, 16, base);
    request.mutable_report()->mutable_facts()->set_host_ip(address);
    tracker->stream().Write(request);
    const pb::Ack ack = tracker->Next().ack();
    EXPECT_EQ(ack.sequence(), sequence);
    return ack.generations().empty() ? 0 : ack.generations(0).generation();
  };
  Tracker first(channel_, host_, node_);
  first.Hello("");
  const std::string service = first.Next().welcome().service().uuid();
  const int64_t generation = report(&first, 1, std::nullopt, "10.0.0.1");
  EXPECT_EQ(GetNode().facts().host_ip(), "10.0.0.1");
  Tracker second(channel_, host_, node_);
  second.Hello("");
  const pb::Welcome welcome = second.Next().welcome();
  EXPECT_EQ(welcome.service().uuid(), service);  // T-13
  EXPECT_FALSE(welcome.service_created());       // T-13
  ASSERT_EQ(welcome.nodes_size(), 1);
  EXPECT_EQ(welcome.nodes(0).recorded().host(), host_);
  report(&second, welcome.nodes(0).last_sequence() + 1, generation, "10.0.0.2");
  EXPECT_EQ(GetNode().facts().host_ip(), "10.0.0.2");  // T-13
  second.End();
}

TEST_F(SessionTest, SilenceTurnsAServiceDownAndABeatUp) {  // T-291
  server_ = StartOrDie(scratch_.path(), {"--service-down-time=2s"});
  channel_ = grpc::CreateChannel(server_->address(), CredentialsOf());
  Tracker tracker(channel_, host_, node_);
  tracker.Hello("");
  const pb::Welcome welcome = tracker.Next().welcome();
  EXPECT_EQ(welcome.heartbeat_interval().nanos(), 333'333'333);  // of 2 s to be down
  tracker.Snapshot(1, 16, std::nullopt);
  EXPECT_TRUE(tracker.Next().has_ack());
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (GetNode().state() == pb::SERVICE_STATE_UP && absl::Now() < deadline) {
  }
  EXPECT_EQ(GetNode().state(), pb::SERVICE_STATE_DOWN);
  bool is_up = false;
  for (int64_t beats = 1; !is_up && absl::Now() < deadline; ++beats) {
    tracker.Beat(beats);
    is_up = GetNode().state() == pb::SERVICE_STATE_UP;
  }
  EXPECT_TRUE(is_up);
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

TEST_F(SessionTest, AStreamEndsWithoutAHelloAndARefusedReportIsAnswered) {
  Tracker silent(channel_, host_, node_);
  silent.Beat(1);
  EXPECT_EQ(ReasonIn(silent.End().error_details()), "INVALID_FIELD");
  Tracker liar(channel_, host_, node_);
  liar.Hello("");
  EXPECT_TRUE(liar.Next().has_welcome());
  pb::SessionRequest request;
  request.mutable_report()->set_node_uuid(Random());
  request.mutable_report()->set_kind(pb::REPORT_KIND_SNAPSHOT);
  liar.stream().Write(request);
  const pb::SessionResponse rejected = liar.Next();
  EXPECT_EQ(ReasonIn(rejected.reject().status().SerializeAsString()), "INVALID_FIELD");
  EXPECT_TRUE(liar.End().ok());
}

TEST_F(SessionTest, StreamsEndWhenPlacementStops) {
  Tracker tracker(channel_, host_, node_);
  tracker.Appear(16);
  server_->Signal(SIGTERM);
  EXPECT_FALSE(tracker.Next().has_ack());
  const grpc::Status ended = tracker.End();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonIn(ended.error_details()), "NOT_SERVING");
  EXPECT_EQ(server_->AwaitEnd(absl::Seconds(40)), 0);
}

}  // namespace
}  // namespace berth::e2e
