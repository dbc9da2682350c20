// Callers that want what is not theirs, over TLS against the real placement: a refusal does not tell
// what exists, and a tracker gets nothing of another host. Who may call which RPC is in
// tests/refusals/every_pair_test.cc.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "berth/placement/v1/report.grpc.pb.h"
#include "placement/ground/uuid.h"
#include "tests/fault/certified_site.h"
#include "tests/fault/played_session.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;

std::string NewUuid() { return placement::Uuid::Random().ToString(); }

class Trespass : public ::testing::Test {
 protected:
  // Creates the record of an instance on `host`.
  std::string CreateInstance(const std::string& host) {
    pb::SetInstanceRequest request = RecordOf(NewUuid(), host);
    pb::SetInstanceResponse response;
    const grpc::Status status =
        instances_->SetInstance(CallWithin(kAnswerMax).get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return request.instance().uuid();
  }
  static pb::SetInstanceRequest RecordOf(const std::string& uuid, const std::string& host) {
    pb::SetInstanceRequest request;
    pb::Instance& instance = *request.mutable_instance();
    instance.set_uuid(uuid);
    instance.set_project_id("p");
    instance.set_user_id("u");
    instance.set_vm_state("active");
    instance.set_host(host);
    instance.mutable_flavor();
    return request;
  }
  grpc::Status CreateNode(const std::string& uuid, const std::string& name,
                          const std::string& host) {
    pb::CreateNodeRequest request;
    request.set_node_uuid(uuid);
    request.set_name(name);
    request.set_host(host);
    pb::CreateNodeResponse response;
    return fleet_->CreateNode(CallWithin(kAnswerMax).get(), request, &response);
  }
  // The generation of the provider, which an operator makes.
  int64_t CreateProvider(const std::string& uuid, const std::string& name) {
    pb::CreateProviderRequest request;
    request.set_uuid(uuid);
    request.set_name(name);
    pb::CreateProviderResponse response;
    const grpc::Status status =
        providers_->CreateProvider(CallWithin(kAnswerMax).get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.provider().generation();
  }

  CertifiedSite site_{0};
  const std::shared_ptr<grpc::Channel> admin_ = site_.ConnectToPlacement("admin/test");
  const std::unique_ptr<pb::FleetService::Stub> fleet_ = pb::FleetService::NewStub(admin_);
  const std::unique_ptr<pb::InstanceService::Stub> instances_ =
      pb::InstanceService::NewStub(admin_);
  const std::unique_ptr<pb::ProviderService::Stub> providers_ =
      pb::ProviderService::NewStub(admin_);
};

// What only an admin may set is refused before the node is looked for.
TEST_F(Trespass, ARefusedFieldDoesNotTellWhatExists) {
  const std::string exists = NewUuid();
  ASSERT_TRUE(CreateNode(exists, "node-1", "host-1").ok());
  const auto fleet = pb::FleetService::NewStub(site_.ConnectToPlacement("operator/someone"));
  const auto told = [&](const std::string& uuid) {
    pb::DeleteNodeRequest request;
    request.set_node_uuid(uuid);
    request.set_cascade(true);
    pb::DeleteNodeResponse response;
    const grpc::Status status = fleet->DeleteNode(CallWithin(kAnswerMax).get(), request, &response);
    EXPECT_EQ(ReasonIn(status), "ROLE_NOT_PERMITTED");
    return Told(status, uuid);
  };
  EXPECT_EQ(told(exists), told(NewUuid()));
}

// The record is on another host, or there is none: the tracker is told the same.
TEST_F(Trespass, ATrackerDoesNotLearnWhichRecordsExist) {
  PlayedSession session(site_, "host-2");
  session.SayHello(NewUuid());
  const auto service = pb::InstanceService::NewStub(site_.ConnectToPlacement("tracker/host-2"));
  const auto told = [&](const std::string& uuid, const std::string& as_host) {
    pb::SetInstanceRequest request = RecordOf(uuid, "host-2");
    request.mutable_tracker()->set_host(as_host);
    request.mutable_tracker()->set_incarnation(session.incarnation);
    pb::SetInstanceResponse response;
    const grpc::Status status =
        service->SetInstance(CallWithin(kAnswerMax).get(), request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << status.error_message();
    EXPECT_EQ(ReasonIn(status), "POLICY_DENIED");
    EXPECT_FALSE(absl::StrContains(status.error_message(), "host-1")) << status.error_message();
    return Told(status, uuid);
  };
  const std::string exists = CreateInstance("host-1");
  const std::string missing = NewUuid();
  EXPECT_EQ(told(exists, "host-2"), told(missing, "host-2"));
  EXPECT_EQ(told(exists, "host-3"),
            told(missing, "host-3"));  // another host than its certificate's
}

TEST_F(Trespass, ATrackerGetsNoTreeThatNobodyGaveToItsHost) {
  const std::string pool = NewUuid();
  const int64_t generation = CreateProvider(pool, "pool");
  PlayedSession session(site_, "host-2");
  EXPECT_EQ(session.SayHello(pool).standing(), pb::NODE_STANDING_STANDBY);
  EXPECT_EQ(session.Report(pool, "pool", generation), grpc::StatusCode::PERMISSION_DENIED);
  ASSERT_TRUE(CreateNode(pool, "pool", "host-2").ok());
  EXPECT_EQ(session.SayHello(pool).standing(), pb::NODE_STANDING_SEND_ALL);
  EXPECT_EQ(session.Report(pool, "pool", generation + 1), 0);
}

TEST_F(Trespass, ATrackerGetsNoNodeOfAHostThatIsDown) {
  const std::string node = NewUuid();
  ASSERT_TRUE(CreateNode(node, "node-1", "host-1").ok());  // its tracker has never been up
  PlayedSession session(site_, "host-2");
  const pb::NodeWelcome welcome = session.SayHello(node);
  EXPECT_EQ(welcome.standing(), pb::NODE_STANDING_STANDBY);
  EXPECT_FALSE(welcome.has_recorded()) << welcome.ShortDebugString();
  EXPECT_EQ(session.Report(node, "node-1", 1), grpc::StatusCode::PERMISSION_DENIED);
  pb::UpdateNodeRequest request;
  request.set_node_uuid(node);
  request.set_expected_host("host-1");
  request.set_host("host-2");
  pb::UpdateNodeResponse response;
  ASSERT_TRUE(fleet_->UpdateNode(CallWithin(kAnswerMax).get(), request, &response).ok());
  EXPECT_EQ(session.SayHello(node).standing(), pb::NODE_STANDING_SEND_ALL);
}

}  // namespace
}  // namespace berth::fault
