// Claims on a host: a scheduler, berth-placement and berth-tracker over libvirt's test driver.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <functional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/client_context.h"
#include "placement/ground/uuid.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/service_process.h"

namespace berth::e2e {
namespace {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
  return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
}

std::unique_ptr<grpc::ClientContext> Context() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  return context;
}

// The reason and the value of `key` of each ErrorInfo of the status.
std::vector<std::string> Reasons(const grpc::Status& status, const std::string& key = "") {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  std::vector<std::string> reasons;
  for (const auto& detail : details.details()) {
    google::rpc::ErrorInfo info;
    if (!detail.UnpackTo(&info)) continue;
    const auto value = info.metadata().find(key);
    reasons.push_back(value == info.metadata().end() ? info.reason()
                                                     : info.reason() + " " + value->second);
  }
  return reasons;
}

class HostClaimTest : public ::testing::Test {
 protected:
  HostClaimTest() : placement_(StartOrDie(scratch_.path())) { StartTracker(); }

  void StartTracker(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {BERTH_TRACKER_PROGRAM,
                                        "--log-format=text",
                                        "--host=h",
                                        "--hypervisor=test:///default",
                                        "--state-dir=" + scratch_.path() + "/state",
                                        "--placement=" + placement_->address()};
    command.insert(command.end(), more.begin(), more.end());
    tracker_ = std::make_unique<ServiceProcess>(scratch_.path(), "tracker", std::move(command));
    EXPECT_TRUE(tracker_->AwaitAddress().ok()) << tracker_->Log();
    host_ = tracker_pb::TrackerService::NewStub(ChannelTo(tracker_->address()));
    instances_ = pb::InstanceService::NewStub(ChannelTo(placement_->address()));
    // The tracker takes claims once placement has its report and it has placement's records.
    EXPECT_TRUE(Eventually([this] {
      const tracker_pb::GetNodeViewResponse view = View();
      node_ = view.node().node_uuid();
      return view.node().acknowledged_sequence() > 0 && view.providers_size() > 0;
    })) << tracker_->Log();
  }
  static bool Eventually(const std::function<bool()>& holds) {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (!holds()) {
      if (absl::Now() >= deadline) return false;
    }
    return true;
  }

  tracker_pb::GetNodeViewResponse View() {
    tracker_pb::GetNodeViewResponse view;
    host_->GetNodeView(Context().get(), {}, &view);
    return view;
  }
  // The record of a new instance, as a scheduler makes it.
  pb::Instance Create() {
    pb::SetInstanceRequest request;
    pb::Instance* const instance = request.mutable_instance();
    instance->set_uuid(placement::Uuid::Random().ToString());
    instance->set_project_id("p");
    instance->set_user_id("u");
    instance->set_vm_state("building");
    instance->set_task_state("spawning");
    instance->mutable_flavor()->set_vcpus(1);
    instance->mutable_flavor()->set_memory_mib(256);
    pb::SetInstanceResponse response;
    const grpc::Status status = instances_->SetInstance(Context().get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.instance();
  }
  pb::Instance Get(const pb::Instance& instance) {
    pb::GetInstanceRequest request;
    request.set_instance_uuid(instance.uuid());
    pb::GetInstanceResponse response;
    const grpc::Status status = instances_->GetInstance(Context().get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.instance();
  }
  tracker_pb::ClaimInstanceRequest ClaimOf(const pb::Instance& instance,
                                           const std::string& request_id = "") {
    tracker_pb::ClaimInstanceRequest request;
    request.set_request_id(request_id);
    request.set_node_uuid(node_);
    *request.mutable_instance() = instance;
    return request;
  }
  grpc::Status Claim(const tracker_pb::ClaimInstanceRequest& request,
                     tracker_pb::ClaimInstanceResponse* response) {
    return host_->ClaimInstance(Context().get(), request, response);
  }

  placement::ScratchDirectory scratch_;
  std::unique_ptr<PlacementServer> placement_;
  std::unique_ptr<ServiceProcess> tracker_;
  std::unique_ptr<tracker_pb::TrackerService::Stub> host_;
  std::unique_ptr<pb::InstanceService::Stub> instances_;
  std::string node_;
};

TEST_F(HostClaimTest, AClaimIsInTheRecordAndInTheAccount) {
  const pb::Amounts before = View().account().used();
  const pb::Instance instance = Create();
  tracker_pb::ClaimInstanceResponse claimed;
  const grpc::Status status = Claim(ClaimOf(instance, "request-1"), &claimed);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(Get(instance).host(), "h");  // T-155
  EXPECT_EQ(Get(instance).node_uuid(), node_);
  EXPECT_EQ(claimed.claim().claim_id(), absl::StrCat(instance.uuid(), "/", instance.generation()));
  EXPECT_EQ(View().account().instances().memory_mib(), 256);
  EXPECT_EQ(View().account().used().memory_mib(), before.memory_mib() + 256);
  // Nobody has allocated what the instance uses. The next audit sees it.
  ASSERT_TRUE(Eventually([this] { return View().drifts_size() > 0; }));
  const tracker_pb::GetNodeViewResponse view = View();
  ASSERT_EQ(view.drifts_size(), 2);
  EXPECT_EQ(view.drifts(0).resource_class(), "MEMORY_MB");  // T-351
  EXPECT_EQ(view.drifts(0).accounted(), 256);
  EXPECT_EQ(view.drifts(0).allocated(), 0);            // T-154: a claim allocates nothing
  EXPECT_EQ(view.drifts(1).resource_class(), "VCPU");  // T-351
  EXPECT_THAT(view.drifts(1).instance_uuids(), ElementsAre(instance.uuid()));

  tracker_pb::ClaimInstanceResponse again;
  ASSERT_TRUE(Claim(ClaimOf(instance, "request-1"), &again).ok());
  EXPECT_EQ(again.SerializeAsString(), claimed.SerializeAsString());  // T-385
  EXPECT_THAT(Reasons(Claim(ClaimOf(Get(instance)), &again)),
              ElementsAre("INSTANCE_ALREADY_CLAIMED"));  // T-181

  // A restarted tracker has the claim from placement, and can end it.
  tracker_->Signal(SIGKILL);
  tracker_->AwaitEnd(absl::Seconds(30));
  StartTracker();
  EXPECT_TRUE(
      Eventually([&] { return View().account().instances().memory_mib() == 256; }));  // T-65, T-399
  tracker_pb::AbortClaimRequest abort;
  abort.set_node_uuid(node_);
  abort.set_claim_id(claimed.claim().claim_id());
  tracker_pb::AbortClaimResponse aborted;
  ASSERT_TRUE(host_->AbortClaim(Context().get(), abort, &aborted).ok());
  EXPECT_TRUE(aborted.aborted());
  EXPECT_EQ(Get(instance).host(), "");                                   // T-165
  EXPECT_EQ(View().account().used().memory_mib(), before.memory_mib());  // T-167
}

TEST_F(HostClaimTest, ATrackerWithDedicatedCpusMovesWhatPinnedGuestsHold) {
  pb::Instance instance = Create();
  instance.set_host("h");
  instance.set_node_uuid(node_);
  instance.set_vm_state("active");
  instance.clear_task_state();
  pb::GuestCell* const cell = instance.add_numa_cells();
  cell->set_host_cell(0);
  cell->add_pinned_cpus(0);
  (*cell->mutable_pinning())[0] = 2;
  pb::SetInstanceRequest set;
  *set.mutable_instance() = instance;
  set.set_expected_generation(instance.generation());
  pb::SetInstanceResponse stored;
  const grpc::Status status = instances_->SetInstance(Context().get(), set, &stored);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const auto allocations = pb::AllocationService::NewStub(ChannelTo(placement_->address()));
  pb::SetAllocationsRequest claim;
  pb::ConsumerAllocations* const consumer = claim.add_consumers();
  consumer->set_consumer_uuid(instance.uuid());
  consumer->mutable_new_consumer();
  consumer->set_project_id("p");
  consumer->set_user_id("u");
  consumer->set_consumer_type("INSTANCE");
  consumer->add_allocations()->set_provider_uuid(node_);
  (*consumer->mutable_allocations(0)->mutable_resources())["VCPU"] = 1;
  (*consumer->mutable_allocations(0)->mutable_resources())["MEMORY_MB"] = 256;
  pb::SetAllocationsResponse claimed;
  ASSERT_TRUE(allocations->SetAllocations(Context().get(), claim, &claimed).ok());
  tracker_->Signal(SIGTERM);
  tracker_->AwaitEnd(absl::Seconds(40));
  StartTracker({"--cpu-shared-set=0,4", "--cpu-dedicated-set=2"});
  pb::GetAllocationsRequest ask;
  ask.set_consumer_uuid(instance.uuid());
  pb::GetAllocationsResponse held;
  EXPECT_TRUE(Eventually([&] {
    held.Clear();
    return allocations->GetAllocations(Context().get(), ask, &held).ok() &&
           held.consumer().allocations_size() == 1 &&
           held.consumer().allocations(0).resources().count("PCPU") != 0;  // T-209
  })) << tracker_->Log();
  EXPECT_EQ(held.consumer().allocations(0).resources().size(), 2u);
  EXPECT_EQ(held.consumer().allocations(0).resources().at("PCPU"), 1);         // T-209
  EXPECT_EQ(held.consumer().allocations(0).resources().at("MEMORY_MB"), 256);  // T-209
}

TEST_F(HostClaimTest, AMoveIsClaimedAndGivenUp) {
  pb::Instance instance = Create();
  instance.set_host("elsewhere");
  instance.set_vm_state("active");
  instance.set_task_state("resize_prep");
  pb::SetInstanceRequest set;
  *set.mutable_instance() = instance;
  set.set_expected_generation(instance.generation());
  pb::SetInstanceResponse placed;
  ASSERT_TRUE(instances_->SetInstance(Context().get(), set, &placed).ok());
  pb::CreateMigrationRequest create;
  create.mutable_migration()->set_uuid(placement::Uuid::Random().ToString());
  create.mutable_migration()->set_instance_uuid(instance.uuid());
  create.mutable_migration()->set_type(pb::MIGRATION_TYPE_COLD);
  create.mutable_migration()->set_source_host("elsewhere");
  pb::CreateMigrationResponse created;
  grpc::Status status = instances_->CreateMigration(Context().get(), create, &created);
  ASSERT_TRUE(status.ok()) << status.error_message();

  tracker_pb::ClaimMoveRequest claim;
  claim.set_node_uuid(node_);
  *claim.mutable_instance() = placed.instance();
  *claim.mutable_migration() = created.migration();
  tracker_pb::ClaimMoveResponse claimed;
  status = host_->ClaimMove(Context().get(), claim, &claimed);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(claimed.claim().claim_id(), created.migration().uuid());
  EXPECT_EQ(Get(instance).migration_context().migration_uuid(),
            created.migration().uuid());  // T-168
  EXPECT_EQ(View().account().migrations().memory_mib(), 256);

  tracker_pb::AbortClaimRequest abort;
  abort.set_node_uuid(node_);
  abort.set_claim_id(claimed.claim().claim_id());
  tracker_pb::AbortClaimResponse aborted;
  status = host_->AbortClaim(Context().get(), abort, &aborted);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(aborted.aborted());
  EXPECT_FALSE(Get(instance).has_migration_context());  // T-170
  EXPECT_EQ(Get(instance).host(), "elsewhere");         // T-169
  EXPECT_EQ(View().account().migrations().memory_mib(), 0);
}

TEST_F(HostClaimTest, AnInstanceInUpperCaseIsTheSameInstance) {
  const pb::Instance instance = Create();
  tracker_pb::ClaimInstanceResponse response;
  ASSERT_TRUE(Claim(ClaimOf(instance), &response).ok());
  const std::string claim_id = response.claim().claim_id();
  pb::Instance upper = Get(instance);
  upper.set_uuid(absl::AsciiStrToUpper(instance.uuid()));
  EXPECT_THAT(Reasons(Claim(ClaimOf(upper), &response)),
              ElementsAre("INSTANCE_ALREADY_CLAIMED"));  // T-181
  tracker_pb::AbortClaimRequest abort;
  abort.set_node_uuid(absl::AsciiStrToUpper(node_));
  abort.set_claim_id(absl::AsciiStrToUpper(claim_id));
  tracker_pb::AbortClaimResponse aborted;
  const grpc::Status status = host_->AbortClaim(Context().get(), abort, &aborted);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(aborted.aborted());
  EXPECT_EQ(Get(instance).host(), "");  // T-165

  // What was claimed in upper case can be aborted, too.
  upper = Get(instance);
  upper.set_uuid(absl::AsciiStrToUpper(instance.uuid()));
  ASSERT_TRUE(Claim(ClaimOf(upper), &response).ok());
  abort.set_claim_id(response.claim().claim_id());
  ASSERT_TRUE(host_->AbortClaim(Context().get(), abort, &aborted).ok());
  EXPECT_TRUE(aborted.aborted());
  EXPECT_EQ(View().account().instances().memory_mib(), 0);  // T-167
}

TEST_F(HostClaimTest, AMalformedClaimIsRefusedAndTheSessionLasts) {
  const pb::Instance instance = Create();
  using Change = std::function<void(pb::Instance*)>;
  const std::pair<const char*, Change> cases[] = {
      {"instance.project_id", [](auto* i) { i->set_project_id(std::string("p\0", 2)); }},
      {"instance.image.properties[0].value",
       [](auto* i) { (*i->mutable_image()->mutable_properties())["os"] = std::string("p\0", 2); }},
      {"instance.node_uuid",
       [](auto* i) {
         i->set_host("h");
         i->set_node_uuid("nowhere");
       }},
      {"instance",
       [](auto* i) {
         (*i->mutable_image()->mutable_properties())["os"] = std::string(128 << 10, 'x');
       }},
      {"instance.pci_requests[0].count",
       [](auto* i) { i->add_pci_requests()->set_count(2147483647); }},
  };
  tracker_pb::ClaimInstanceResponse response;
  for (const auto& [field, change] : cases) {
    pb::Instance malformed = instance;
    change(&malformed);
    const grpc::Status status = Claim(ClaimOf(malformed), &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << field;
    EXPECT_THAT(Reasons(status, "field"), ElementsAre(absl::StrCat("INVALID_FIELD ", field)));
  }
  EXPECT_EQ(View().account().claims().memory_mib(), 0);  // T-156
  const grpc::Status good = Claim(ClaimOf(instance), &response);
  EXPECT_TRUE(good.ok()) << good.error_message();
  EXPECT_THAT(tracker_->Log(), Not(HasSubstr("no session with placement")));
}

TEST_F(HostClaimTest, ARepeatAfterAnAbortIsNotTheFirstAnswer) {
  const pb::Instance instance = Create();
  tracker_pb::ClaimInstanceResponse response;
  ASSERT_TRUE(Claim(ClaimOf(instance, "request-1"), &response).ok());
  tracker_pb::AbortClaimRequest abort;
  abort.set_node_uuid(node_);
  abort.set_claim_id(response.claim().claim_id());
  tracker_pb::AbortClaimResponse aborted;
  ASSERT_TRUE(host_->AbortClaim(Context().get(), abort, &aborted).ok());
  ASSERT_TRUE(aborted.aborted());
  EXPECT_THAT(Reasons(Claim(ClaimOf(instance, "request-1"), &response)),
              ElementsAre("RECORD_CONFLICT"));  // T-385
}

// Only placement knows whose migration it is.
TEST_F(HostClaimTest, AMoveOfAnotherInstanceIsRefusedAndLeavesNothing) {
  const auto moving = [this] {
    pb::Instance instance = Create();
    instance.set_host("elsewhere");
    instance.set_vm_state("active");
    instance.set_task_state("resize_prep");
    pb::SetInstanceRequest set;
    *set.mutable_instance() = instance;
    set.set_expected_generation(instance.generation());
    pb::SetInstanceResponse placed;
    EXPECT_TRUE(instances_->SetInstance(Context().get(), set, &placed).ok());
    return placed.instance();
  };
  pb::CreateMigrationRequest create;
  create.mutable_migration()->set_uuid(placement::Uuid::Random().ToString());
  create.mutable_migration()->set_instance_uuid(moving().uuid());
  create.mutable_migration()->set_type(pb::MIGRATION_TYPE_COLD);
  create.mutable_migration()->set_source_host("elsewhere");
  pb::CreateMigrationResponse created;
  ASSERT_TRUE(instances_->CreateMigration(Context().get(), create, &created).ok());
  tracker_pb::ClaimMoveRequest claim;
  claim.set_node_uuid(node_);
  *claim.mutable_instance() = moving();
  *claim.mutable_migration() = created.migration();
  claim.mutable_migration()->set_instance_uuid(claim.instance().uuid());
  tracker_pb::ClaimMoveResponse response;
  const grpc::Status status = host_->ClaimMove(Context().get(), claim, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_THAT(Reasons(status, "field"), ElementsAre("INVALID_FIELD migration.uuid"));
  EXPECT_EQ(View().account().claims().memory_mib(), 0);  // T-156
  EXPECT_THAT(tracker_->Log(), Not(HasSubstr("no session with placement")));
}

TEST_F(HostClaimTest, EveryTestThatFailsIsInTheError) {  // T-159
  tracker_pb::ClaimInstanceRequest request = ClaimOf(Create());
  request.mutable_limits()->set_memory_mib(0);
  request.mutable_limits()->set_vcpus(0);
  tracker_pb::ClaimInstanceResponse response;
  const grpc::Status status = Claim(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(Reasons(status, "test"),
              ElementsAre("RESOURCES_UNAVAILABLE memory", "RESOURCES_UNAVAILABLE vcpu"));  // T-159
}

TEST_F(HostClaimTest, WithoutPlacementNothingIsClaimed) {
  const pb::Instance instance = Create();
  const std::string before = View().account().SerializeAsString();
  placement_->Signal(SIGKILL);
  placement_->AwaitEnd(absl::Seconds(30));
  // A claim that was sent before the session ended would be in doubt.
  ASSERT_TRUE(Eventually([&] {
    tracker_pb::ListNodesResponse nodes;
    return host_->ListNodes(Context().get(), {}, &nodes).ok() && !nodes.placement_error().empty();
  }));
  tracker_pb::ClaimInstanceResponse response;
  const grpc::Status status = Claim(ClaimOf(instance), &response);
  EXPECT_THAT(Reasons(status), ElementsAre("PLACEMENT_UNAVAILABLE")) << status.error_message();
  EXPECT_EQ(View().account().SerializeAsString(), before);  // T-376
}

}  // namespace
}  // namespace berth::e2e
