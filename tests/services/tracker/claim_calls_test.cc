// The calls that make and end claims: what they refuse before a node is asked, and how they are
// counted.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <filesystem>
#include <functional>

#include "absl/strings/str_cat.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "services/process/server.h"
#include "services/tracker/claim_messages.h"
#include "services/tracker/host.h"
#include "services/tracker/service.h"

namespace berth::services {
namespace {

namespace pb = berth::tracker::v1;
using ::testing::HasSubstr;

constexpr char kOtherUuid[] = "88888888-8888-4888-8888-888888888888";
constexpr char kSomeUuid[] = "99999999-9999-4999-8999-999999999999";

// A record that placement would take.
placement::v1::Instance GoodInstance() {
  placement::v1::Instance instance;
  instance.set_uuid(kSomeUuid);
  instance.set_generation(1);
  instance.set_project_id("p");
  instance.set_user_id("u");
  instance.set_vm_state("building");
  instance.mutable_flavor()->set_vcpus(1);
  return instance;
}

class ClaimCallsTest : public ::testing::Test {
 protected:
  ClaimCallsTest() {
    char path[] = "/tmp/berth-claims-XXXXXX";
    tracker::Configuration configuration;
    configuration.host = "h";
    configuration.my_address = "127.0.0.1";
    configuration.state_path = state_ = mkdtemp(path);
    configuration.update_resources_interval_seconds = -1;
    configuration.nodes.emplace_back().uri = "test:///default";
    host_ = std::make_unique<TrackerHost>(configuration);
    EXPECT_TRUE(host_->Start([] { return false; }).ok());
    host_->AddMetrics(&metrics_);
    service_ = MakeTrackerService(host_.get(), "i", &metrics_);
    ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    auto server = Server::Start(options, {service_.get()});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = pb::TrackerService::NewStub(
        grpc::CreateChannel(server_->addresses()[0], grpc::InsecureChannelCredentials()));
    node_ = host_->runners()[0]->node()->identity()->uuid.ToString();
  }
  ~ClaimCallsTest() override {
    server_->Drain([this] { host_->Stop(); });
    server_.reset();
    service_.reset();
    host_.reset();
    std::filesystem::remove_all(state_);
  }

  // The code, the first reason and, if there is one, the field of the answer.
  template <typename Response, typename Method, typename Request>
  std::string Answer(Method method, const Request& request) {
    grpc::ClientContext context;
    Response response;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
    google::rpc::Status details;
    details.ParseFromString(status.error_details());
    google::rpc::ErrorInfo info;
    if (details.details_size() > 0) details.details(0).UnpackTo(&info);
    const auto field = info.metadata().find("field");
    return info.reason() + (field == info.metadata().end() ? "" : " " + field->second);
  }
  std::string Claim(const pb::ClaimInstanceRequest& request) {
    return Answer<pb::ClaimInstanceResponse>(&pb::TrackerService::Stub::ClaimInstance, request);
  }
  std::string Move(const pb::ClaimMoveRequest& request) {
    return Answer<pb::ClaimMoveResponse>(&pb::TrackerService::Stub::ClaimMove, request);
  }
  std::string Abort(const pb::AbortClaimRequest& request) {
    return Answer<pb::AbortClaimResponse>(&pb::TrackerService::Stub::AbortClaim, request);
  }
  std::string Drop(const pb::DropMoveClaimRequest& request) {
    return Answer<pb::DropMoveClaimResponse>(&pb::TrackerService::Stub::DropMoveClaim, request);
  }

  std::string state_;
  std::string node_;
  Metrics metrics_{"tracker"};
  std::unique_ptr<TrackerHost> host_;
  std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<pb::TrackerService::Stub> stub_;
};

TEST_F(ClaimCallsTest, RefusesMalformedClaimsInOrder) {
  pb::ClaimInstanceRequest request;
  EXPECT_EQ(Claim(request), "INVALID_FIELD node_uuid");
  request.set_node_uuid(kSomeUuid);
  request.set_request_id(std::string(129, 'x'));
  EXPECT_EQ(Claim(request), "INVALID_FIELD request_id");
  request.clear_request_id();
  EXPECT_EQ(Claim(request), "INVALID_FIELD instance.uuid");
  request.mutable_instance()->set_uuid(kSomeUuid);
  EXPECT_EQ(Claim(request), "INVALID_FIELD instance.generation");
  request.mutable_instance()->set_generation(1);
  EXPECT_EQ(Claim(request), "INVALID_FIELD instance.flavor");
  request.mutable_instance()->mutable_flavor()->set_vcpus(1);
  EXPECT_EQ(Claim(request), "INVALID_FIELD instance.project_id");
  *request.mutable_instance() = GoodInstance();
  request.mutable_limits()->set_numa_cpu_ratio(0);
  EXPECT_EQ(Claim(request), "INVALID_FIELD limits.numa_cpu_ratio");
  request.clear_limits();
  EXPECT_EQ(Claim(request), "NODE_UNAVAILABLE") << "this host has no such node";  // T-153
  request.set_node_uuid(node_);
  EXPECT_EQ(Claim(request), "NODE_UNAVAILABLE") << "placement has sent no records";  // T-153
  request.mutable_instance()->add_numa_cells()->set_cpu_policy("none");
  EXPECT_EQ(Claim(request), "INVALID_FIELD instance");
}

TEST_F(ClaimCallsTest, RefusesTextsAndNumbersThatPlacementWouldRefuse) {
  const std::string nul("p\0", 2);
  using Change = std::function<void(pb::ClaimInstanceRequest*)>;
  const std::pair<const char*, Change> cases[] = {
      {"instance.project_id", [&](auto* r) { r->mutable_instance()->set_project_id(nul); }},
      {"instance.name",
       [](auto* r) { r->mutable_instance()->set_name(std::string(128 << 10, 'x')); }},
      {"instance.node_uuid", [](auto* r) { r->mutable_instance()->set_node_uuid("{}"); }},
      {"instance",
       [](auto* r) {
         (*r->mutable_instance()->mutable_image()->mutable_properties())["x"] =
             std::string(128 << 10, 'x');
       }},
      {"instance.pci_requests[0].count",
       [](auto* r) { r->mutable_instance()->add_pci_requests()->set_count(INT32_MAX); }},
      {"instance.pci_requests[0].count",
       [](auto* r) { r->mutable_instance()->add_pci_requests()->set_count(0); }},
      {"instance.pci_requests[0].count",
       [](auto* r) { r->mutable_instance()->add_pci_requests()->set_count(-1); }},
      {"instance.flavor.memory_mib",
       [](auto* r) { r->mutable_instance()->mutable_flavor()->set_memory_mib(INT64_MAX); }},
      {"limits.disk_gib", [](auto* r) { r->mutable_limits()->set_disk_gib(INT64_MIN); }},
      {"limits.numa_cpu_ratio", [](auto* r) { r->mutable_limits()->set_numa_cpu_ratio(NAN); }},
      {"allocations[0].provider_uuid", [](auto* r) { r->add_allocations(); }},
      {"allocations[0].resources",
       [](auto* r) {
         r->add_allocations()->set_provider_uuid(kSomeUuid);
         (*r->mutable_allocations(0)->mutable_resources())["two\nlines"] = 1;
       }},
      {"allocations[0].resources",
       [](auto* r) {
         r->add_allocations()->set_provider_uuid(kSomeUuid);
         (*r->mutable_allocations(0)->mutable_resources())["VCPU"] = INT64_MAX;
       }},
      {"request_id", [&](auto* r) { r->set_request_id(nul); }},
  };
  for (const auto& [field, change] : cases) {
    pb::ClaimInstanceRequest request;
    request.set_node_uuid(node_);
    *request.mutable_instance() = GoodInstance();
    change(&request);
    EXPECT_EQ(Claim(request), absl::StrCat("INVALID_FIELD ", field));
  }
}

TEST_F(ClaimCallsTest, RefusesMalformedMovesAndEnds) {
  pb::ClaimMoveRequest move;
  move.set_node_uuid(node_);
  *move.mutable_instance() = GoodInstance();
  EXPECT_EQ(Move(move), "INVALID_FIELD migration.uuid");
  move.mutable_migration()->set_uuid(kOtherUuid);
  EXPECT_EQ(Move(move), "INVALID_FIELD migration.generation");
  move.mutable_migration()->set_generation(1);
  EXPECT_EQ(Move(move), "INVALID_FIELD migration.instance_uuid");
  move.mutable_migration()->set_instance_uuid(kSomeUuid);
  EXPECT_EQ(Move(move), "INVALID_FIELD migration.type");
  move.mutable_migration()->set_type(placement::v1::MIGRATION_TYPE_COLD);
  move.mutable_migration()->set_status("accepted");
  move.mutable_migration()->set_source_host("h2");
  move.mutable_new_flavor()->set_memory_mib(-1);
  EXPECT_EQ(Move(move), "INVALID_FIELD new_flavor.memory_mib");
  move.clear_new_flavor();
  EXPECT_EQ(Move(move), "NODE_UNAVAILABLE");
  pb::AbortClaimRequest abort;
  EXPECT_EQ(Abort(abort), "INVALID_FIELD node_uuid");
  abort.set_node_uuid(node_);
  EXPECT_EQ(Abort(abort), "INVALID_FIELD claim_id");
  abort.set_claim_id(std::string(65, 'x'));
  EXPECT_EQ(Abort(abort), "INVALID_FIELD claim_id");
  abort.set_claim_id("any");
  EXPECT_EQ(Abort(abort), "NODE_UNAVAILABLE");
  pb::DropMoveClaimRequest drop;
  EXPECT_EQ(Drop(drop), "INVALID_FIELD node_uuid");
  drop.set_node_uuid(node_);
  EXPECT_EQ(Drop(drop), "INVALID_FIELD instance_uuid");
  drop.set_instance_uuid(kSomeUuid);
  EXPECT_EQ(Drop(drop), "INVALID_FIELD migration_uuid");
  drop.set_migration_uuid(kSomeUuid);
  EXPECT_EQ(Drop(drop), "INVALID_FIELD side");
  drop.set_side(pb::MOVE_SIDE_NEW);
  EXPECT_EQ(Drop(drop), "NODE_UNAVAILABLE");
}

TEST_F(ClaimCallsTest, RefusesMalformedUpdates) {
  pb::UpdateUsageRequest request;
  const auto answer = [&] {
    return Answer<pb::UpdateUsageResponse>(&pb::TrackerService::Stub::UpdateUsage, request);
  };
  EXPECT_EQ(answer(), "INVALID_FIELD node_uuid");
  request.set_node_uuid(node_);
  EXPECT_EQ(answer(), "INVALID_FIELD instance.uuid");
  request.mutable_instance()->set_uuid(kSomeUuid);
  request.mutable_instance()->set_generation(1);
  request.mutable_instance()->mutable_flavor();
  EXPECT_EQ(answer(), "NODE_UNAVAILABLE") << "placement has sent no records";
}

const char* const kNoUuids[] = {"",
                                "i1",
                                "00000000-0000-0000-0000-000000000000",
                                "{99999999-9999-4999-8999-999999999999}",
                                "urn:uuid:99999999-9999-4999-8999-999999999999",
                                " 99999999-9999-4999-8999-999999999999",
                                "99999999-9999-4999-8999-99999999999",
                                "99999999-9999-4999-8999-99999999999g"};

// Whatever case the uuids have, and with hyphens or without them, a request names the same things.
TEST_F(ClaimCallsTest, ReadsEachUuidInAnyForm) {
  for (const char* const text :
       {"9999999a-9999-4999-8999-999999999999", "9999999A-9999-4999-8999-999999999999",
        "9999999a999949998999999999999999"}) {
    pb::ClaimInstanceRequest request;
    request.set_node_uuid(text);
    *request.mutable_instance() = GoodInstance();
    request.mutable_instance()->set_uuid(text);
    request.add_allocations()->set_provider_uuid(text);
    (*request.mutable_allocations(0)->mutable_resources())["VCPU"] = 1;
    const auto claim = ClaimOf(request);
    ASSERT_TRUE(claim.ok()) << claim.status();
    const tracker::Uuid uuid = *tracker::Uuid::Parse(text);
    EXPECT_EQ(uuid.ToString(), "9999999a-9999-4999-8999-999999999999");
    EXPECT_EQ(claim->node_uuid, uuid);
    EXPECT_EQ(claim->instance.uuid, uuid);
    EXPECT_EQ(claim->units.at(0).provider_uuid, uuid);
    pb::AbortClaimRequest abort;
    abort.set_claim_id(absl::StrCat(text, "/7"));
    EXPECT_EQ(*ClaimIdOf(abort), uuid.ToString() + "/7");
    abort.set_claim_id(text);
    EXPECT_EQ(*ClaimIdOf(abort), uuid.ToString());
  }
}

TEST_F(ClaimCallsTest, NamesTheFieldThatIsNoUuid) {
  for (const char* const text : kNoUuids) {
    pb::ClaimInstanceRequest claim;
    *claim.mutable_instance() = GoodInstance();
    claim.set_node_uuid(text);
    EXPECT_EQ(Claim(claim), "INVALID_FIELD node_uuid") << text;
    claim.set_node_uuid(node_);
    claim.add_allocations()->set_provider_uuid(text);
    EXPECT_EQ(Claim(claim), "INVALID_FIELD allocations[0].provider_uuid") << text;
    claim.clear_allocations();
    claim.mutable_instance()->add_named_units()->set_provider_uuid(text);
    EXPECT_EQ(Claim(claim), *text == '\0' ? "INVALID_FIELD instance"
                                          : "INVALID_FIELD instance.named_units[0].provider_uuid")
        << text;
    claim.mutable_instance()->set_uuid(text);
    EXPECT_EQ(Claim(claim), "INVALID_FIELD instance.uuid") << text;
    pb::ClaimMoveRequest move;
    move.set_node_uuid(node_);
    *move.mutable_instance() = GoodInstance();
    move.mutable_migration()->set_generation(1);
    move.mutable_migration()->set_uuid(text);
    EXPECT_EQ(Move(move), "INVALID_FIELD migration.uuid") << text;
    move.mutable_migration()->set_uuid(kOtherUuid);
    move.mutable_migration()->set_instance_uuid(text);
    EXPECT_EQ(Move(move), "INVALID_FIELD migration.instance_uuid") << text;
    pb::AbortClaimRequest abort;
    abort.set_node_uuid(text);
    EXPECT_EQ(Abort(abort), "INVALID_FIELD node_uuid") << text;
    pb::DropMoveClaimRequest drop;
    drop.set_node_uuid(text);
    EXPECT_EQ(Drop(drop), "INVALID_FIELD node_uuid") << text;
    drop.set_node_uuid(node_);
    drop.set_instance_uuid(text);
    EXPECT_EQ(Drop(drop), "INVALID_FIELD instance_uuid") << text;
    drop.set_instance_uuid(kSomeUuid);
    drop.set_migration_uuid(text);
    EXPECT_EQ(Drop(drop), "INVALID_FIELD migration_uuid") << text;
    pb::UpdateUsageRequest update;
    *update.mutable_instance() = GoodInstance();
    update.set_node_uuid(text);
    const auto answer = [&] {
      return Answer<pb::UpdateUsageResponse>(&pb::TrackerService::Stub::UpdateUsage, update);
    };
    EXPECT_EQ(answer(), "INVALID_FIELD node_uuid") << text;
    update.set_node_uuid(node_);
    update.mutable_instance()->set_uuid(text);
    EXPECT_EQ(answer(), "INVALID_FIELD instance.uuid") << text;
    if (*text == '\0') continue;  // names all nodes of the host
    pb::GetNodeViewRequest view;
    view.set_node_uuid(text);
    EXPECT_EQ(Answer<pb::GetNodeViewResponse>(&pb::TrackerService::Stub::GetNodeView, view),
              "INVALID_FIELD node_uuid")
        << text;
    pb::AuditNowRequest audit;
    audit.set_node_uuid(text);
    EXPECT_EQ(Answer<pb::AuditNowResponse>(&pb::TrackerService::Stub::AuditNow, audit),
              "INVALID_FIELD node_uuid")
        << text;
  }
}

TEST_F(ClaimCallsTest, CountsCallsByReason) {
  pb::AbortClaimRequest abort;
  abort.set_node_uuid(node_);
  Abort(abort);
  abort.set_claim_id("any");
  Abort(abort);
  Abort(abort);
  const std::string text = metrics_.Text();
  EXPECT_THAT(
      text,
      HasSubstr(R"(claims_total{kind="AbortClaim",reason="INVALID_FIELD",result="refused"} 1)"));
  EXPECT_THAT(
      text,
      HasSubstr(R"(claims_total{kind="AbortClaim",reason="NODE_UNAVAILABLE",result="refused"} 2)"));
  for (const char* const name :
       {"audit_duration_seconds", "audit_phase_seconds", "audit_results_total", "lock_wait_seconds",
        "lock_hold_seconds", "claims_total", "reports_sent_total", "reports_coalesced_total",
        "reports_rejected_total", "conflicts_total", "stream_sessions_total", "drift", "orphans",
        "free", "used", "total"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\n# TYPE tracker_", name, " ")));  // T-388
  }
  EXPECT_THAT(text, HasSubstr(R"(phase="observe")"));                // T-388
  EXPECT_THAT(text, HasSubstr("tracker_lock_hold_seconds_bucket"));  // T-62
  EXPECT_THAT(text, HasSubstr("tracker_lock_wait_seconds_bucket"));
}

}  // namespace
}  // namespace berth::services
