// Claims on a host: a scheduler, berth-placement and berth-tracker over libvirt's test driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "tests/e2e/host_claim_fixture.h"

namespace berth::e2e {
namespace {

using ::testing::ElementsAre;

TEST_F(HostClaimTest, AClaimIsInTheRecordAndInTheAccount) {
  const pb::Amounts before = View().account().used();
  const pb::Instance instance = Create();
  tracker_pb::ClaimInstanceResponse claimed;
  EXPECT_THAT(Reasons(Claim(ClaimOf(instance), &claimed)), ElementsAre("NODE_UNAVAILABLE"));
  EXPECT_EQ(Get(instance).host(), "");  // T-386: the instance holds nothing here
  Allocate(instance);
  const grpc::Status status = Claim(ClaimOf(instance, "request-1"), &claimed);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(Get(instance).host(), "h");         // T-155
  EXPECT_EQ(Get(instance).launched_on(), "h");  // T-155
  EXPECT_EQ(Get(instance).node_uuid(), node_);
  EXPECT_EQ(claimed.claim().claim_id(), absl::StrCat(instance.uuid(), "/", instance.generation()));
  EXPECT_EQ(View().account().instances().memory_mib(), 256);
  EXPECT_EQ(View().account().used().memory_mib(), before.memory_mib() + 256);
  // Nobody has allocated all that the instance uses. The next audit sees it.
  // What placement has told the tracker may come later than the claim.
  ASSERT_TRUE(Eventually([this] {
    const tracker_pb::GetNodeViewResponse seen = View();
    return seen.drifts_size() == 2 && seen.drifts(0).allocated() > 0;
  }));
  const tracker_pb::GetNodeViewResponse view = View();
  ASSERT_EQ(view.drifts_size(), 2);
  EXPECT_EQ(view.drifts(0).resource_class(), "MEMORY_MB");  // T-351
  EXPECT_EQ(view.drifts(0).accounted(), 256);
  EXPECT_EQ(view.drifts(0).allocated(), 1);            // T-154: a claim allocates nothing
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
  EXPECT_EQ(Get(instance).host(), "");               // T-165
  EXPECT_EQ(Get(instance).launched_on(), "h");       // T-165: stays
  const pb::NodeAccount account = View().account();  // what the scheduler allocated stays
  EXPECT_EQ(account.used().memory_mib() - account.allocations().memory_mib(),
            before.memory_mib());  // T-167
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
  const pb::Instance instance = CreateMoving();
  Allocate(instance);
  pb::CreateMigrationRequest create;
  create.mutable_migration()->set_uuid(placement::Uuid::Random().ToString());
  create.mutable_migration()->set_instance_uuid(instance.uuid());
  create.mutable_migration()->set_type(pb::MIGRATION_TYPE_COLD);
  create.mutable_migration()->set_source_host("elsewhere");
  create.mutable_migration()->set_source_node_uuid(NodeElsewhere());
  pb::CreateMigrationResponse created;
  grpc::Status status = instances_->CreateMigration(Context().get(), create, &created);
  ASSERT_TRUE(status.ok()) << status.error_message();
  // The migration holds what the instance uses on the source.
  status = Schedule(ChannelTo(placement_->address()), created.migration().uuid(),
                    created.migration().source_node_uuid());
  ASSERT_TRUE(status.ok()) << status.error_message();

  tracker_pb::ClaimMoveRequest claim;
  claim.set_node_uuid(node_);
  *claim.mutable_instance() = instance;
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
