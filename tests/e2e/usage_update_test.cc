// UpdateUsage over the wire: when it is answered, the account counts the states of the record, and
// placement's record of the node follows with the next report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "placement/ground/uuid.h"
#include "tests/e2e/host_claim_fixture.h"

namespace berth::e2e {
namespace {

using ::testing::ElementsAre;

using AccountCounters = std::map<std::string, int64_t>;

class UsageUpdateTest : public HostClaimTest {
 protected:
  // Writes the states as a builder does. Returns the record as stored.
  pb::Instance SetStates(const std::string& vm_state, const std::string& task_state) {
    pb::SetInstanceRequest request;
    *request.mutable_instance() = Get(instance_);
    request.mutable_instance()->set_vm_state(vm_state);
    request.mutable_instance()->set_task_state(task_state);
    request.set_expected_generation(request.instance().generation());
    pb::SetInstanceResponse response;
    const grpc::Status status = instances_->SetInstance(Context().get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.instance();
  }
  tracker_pb::UpdateUsageRequest UpdateOf(const pb::Instance& record) const {
    tracker_pb::UpdateUsageRequest request;
    request.set_node_uuid(node_);
    *request.mutable_instance() = record;
    return request;
  }
  // Whether the instance counts, as UpdateUsage says.
  bool Update(const pb::Instance& record) {
    tracker_pb::UpdateUsageResponse response;
    const grpc::Status status = host_->UpdateUsage(Context().get(), UpdateOf(record), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.tracked();
  }
  static AccountCounters CountersOf(const pb::NodeAccount& account) {
    return AccountCounters(account.counters().begin(), account.counters().end());
  }
  AccountCounters Counters() { return CountersOf(View().account()); }
  // Waits until `holds` for placement's record of the node.
  void ExpectNode(const std::function<bool(const pb::Node&)>& holds) {
    const auto fleet = pb::FleetService::NewStub(ChannelTo(placement_->address()));
    pb::GetNodeRequest request;
    request.set_node_uuid(node_);
    pb::GetNodeResponse response;
    EXPECT_TRUE(Eventually([&] {
      response.Clear();
      return fleet->GetNode(Context().get(), request, &response).ok() && holds(response.node());
    })) << response.node().account().ShortDebugString();
  }
  // Waits until placement's record of the node has these counters, too.
  void ExpectReported(const AccountCounters& counters) {
    tracker_pb::AuditNowResponse audited;
    EXPECT_TRUE(host_->AuditNow(Context().get(), {}, &audited).ok());
    ExpectNode([&](const pb::Node& node) { return CountersOf(node.account()) == counters; });
  }

  pb::Instance instance_;  // as it was created
};

TEST_F(UsageUpdateTest, StatesAreInTheAccountWhenItIsAnswered) {
  const int64_t before = View().account().used().memory_mib();
  instance_ = Create();
  Allocate(instance_);
  tracker_pb::ClaimInstanceResponse claimed;
  const grpc::Status status = Claim(ClaimOf(instance_), &claimed);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const AccountCounters building = {{"io_workload", 1},
                                    {"num_instances", 1},
                                    {"num_proj_p", 1},
                                    {"num_task_spawning", 1},
                                    {"num_vm_building", 1}};
  EXPECT_EQ(Counters(), building);  // T-119, T-120
  ExpectReported(building);         // T-119

  const AccountCounters active = {
      {"num_instances", 1}, {"num_proj_p", 1}, {"num_task_None", 1}, {"num_vm_active", 1}};
  EXPECT_TRUE(Update(SetStates("active", "")));  // T-116
  EXPECT_EQ(Counters(), active);                 // T-115, T-119
  ExpectReported(active);                        // T-119

  const AccountCounters imaged = {{"io_workload", 1},
                                  {"num_instances", 1},
                                  {"num_proj_p", 1},
                                  {"num_task_image_snapshot", 1},
                                  {"num_vm_active", 1}};
  const pb::Instance known = SetStates("active", "image_snapshot");
  EXPECT_TRUE(Update(known));                                 // T-116
  EXPECT_TRUE(Update(known));                                 // T-385: a repeat waits for nothing
  EXPECT_EQ(Counters(), imaged);                              // T-115, T-120
  EXPECT_EQ(View().account().instances().memory_mib(), 256);  // T-115: the states change no amount

  EXPECT_FALSE(Update(SetStates("shelved_offloaded", "")));  // T-112
  EXPECT_EQ(Counters(), AccountCounters());                  // T-112, T-115, T-121
  const pb::NodeAccount account = View().account();          // what the scheduler allocated stays
  EXPECT_EQ(account.used().memory_mib() - account.allocations().memory_mib(), before);  // T-115
  ExpectReported({});                                                                   // T-121
}

TEST_F(UsageUpdateTest, FailedBuildsArriveUntilABuildSucceeds) {
  for (int64_t failed = 1; failed <= 2; ++failed) {
    instance_ = Create();
    Allocate(instance_);
    tracker_pb::ClaimInstanceResponse claimed;
    ASSERT_TRUE(Claim(ClaimOf(instance_), &claimed).ok());
    tracker_pb::AbortClaimRequest abort;
    abort.set_node_uuid(node_);
    abort.set_claim_id(claimed.claim().claim_id());
    tracker_pb::AbortClaimResponse aborted;
    ASSERT_TRUE(host_->AbortClaim(Context().get(), abort, &aborted).ok());
    EXPECT_TRUE(aborted.aborted());
    EXPECT_THAT(Reasons(host_->AbortClaim(Context().get(), abort, &aborted)),
                ElementsAre("CLAIM_NOT_FOUND"));
    EXPECT_EQ(Counters(), (AccountCounters{{"failed_builds", failed}}));  // T-122
    ExpectReported({{"failed_builds", failed}});                          // T-122
  }
  instance_ = Create();
  Allocate(instance_);
  tracker_pb::ClaimInstanceResponse claimed;
  ASSERT_TRUE(Claim(ClaimOf(instance_), &claimed).ok());
  EXPECT_EQ(Counters().at("failed_builds"), 2);  // T-122
  EXPECT_TRUE(Update(SetStates("active", "")));
  const AccountCounters active = {
      {"num_instances", 1}, {"num_proj_p", 1}, {"num_task_None", 1}, {"num_vm_active", 1}};
  EXPECT_EQ(Counters(), active);  // T-122
  ExpectReported(active);         // T-122
}

TEST_F(UsageUpdateTest, RatiosArriveWithTheFactsAlsoWhenTheyChange) {
  ExpectNode([](const pb::Node& node) {
    const pb::NodeFacts& facts = node.facts();
    return facts.cpu_allocation_ratio() == 4 && facts.memory_allocation_ratio() == 1 &&
           facts.disk_allocation_ratio() == 1;
  });
  const std::string path = scratch_.path() + "/tracker.toml";
  std::ofstream(path) << "ram-allocation-ratio = 1.5\n";
  tracker_->Signal(SIGTERM);
  tracker_->AwaitEnd(absl::Minutes(1));
  StartTracker({"--config=" + path});
  ExpectNode([](const pb::Node& node) { return node.facts().memory_allocation_ratio() == 1.5; });
  std::ofstream(path) << "ram-allocation-ratio = 2\n";
  tracker_->Signal(SIGHUP);
  ExpectNode([](const pb::Node& node) { return node.facts().memory_allocation_ratio() == 2; });
}

TEST_F(UsageUpdateTest, AnInstanceThatDoesNotCountIsNotCounted) {
  EXPECT_FALSE(Update(Create()));            // T-116
  EXPECT_EQ(Counters(), AccountCounters());  // T-116
}

// The caller knows a record that placement does not have.
TEST_F(UsageUpdateTest, ACallForARecordThatNeverComesEndsWithItsDeadline) {
  instance_ = Create();
  Allocate(instance_);
  tracker_pb::ClaimInstanceResponse claimed;
  ASSERT_TRUE(Claim(ClaimOf(instance_), &claimed).ok());
  const AccountCounters counters = Counters();
  pb::Instance later = Get(instance_);
  later.set_generation(later.generation() + 1);
  later.set_vm_state("active");
  later.mutable_updated_at()->set_seconds(later.updated_at().seconds() + 3600);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Milliseconds(300)));
  tracker_pb::UpdateUsageResponse response;
  EXPECT_EQ(host_->UpdateUsage(&context, UpdateOf(later), &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);  // T-385
  EXPECT_EQ(Counters(), counters);                 // T-116, T-385
  EXPECT_TRUE(Update(Get(instance_)));             // T-385: it waited for the record alone
}

TEST_F(UsageUpdateTest, WhatIsWrongWithARequestIsNamed) {
  const tracker_pb::UpdateUsageRequest good = UpdateOf(Create());
  using Change = std::function<void(tracker_pb::UpdateUsageRequest*)>;
  const std::pair<const char*, Change> cases[] = {
      {"INVALID_FIELD node_uuid", [](auto* request) { request->set_node_uuid("nowhere"); }},
      {"INVALID_FIELD instance.uuid",
       [](auto* request) { request->mutable_instance()->set_uuid("nobody"); }},
      {"INVALID_FIELD instance.generation",
       [](auto* request) { request->mutable_instance()->clear_generation(); }},
      {"INVALID_FIELD instance.flavor",
       [](auto* request) { request->mutable_instance()->clear_flavor(); }},
      {"NODE_UNAVAILABLE",
       [](auto* request) { request->set_node_uuid(placement::Uuid::Random().ToString()); }},
  };
  for (const auto& [reason, change] : cases) {
    tracker_pb::UpdateUsageRequest bad = good;
    change(&bad);
    tracker_pb::UpdateUsageResponse response;
    EXPECT_THAT(Reasons(host_->UpdateUsage(Context().get(), bad, &response), "field"),
                ElementsAre(reason));  // T-385
  }
}

}  // namespace
}  // namespace berth::e2e
