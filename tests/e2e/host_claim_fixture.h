// A scheduler, berth-placement and berth-tracker over libvirt's test driver.
#ifndef BERTH_TESTS_E2E_HOST_CLAIM_FIXTURE_H_
#define BERTH_TESTS_E2E_HOST_CLAIM_FIXTURE_H_

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "berth/placement/v1/inventory.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "grpcpp/client_context.h"
#include "placement/ground/uuid.h"
#include "tests/e2e/stub_call.h"
#include "tests/processes/identity.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/scheduled.h"
#include "tests/processes/service_process.h"

namespace berth::e2e {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;

inline std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
  return grpc::CreateChannel(address, CredentialsOf());
}

inline std::unique_ptr<grpc::ClientContext> Context() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  return context;
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
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (!holds()) {
      if (absl::Now() >= deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
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
  // The record of a new instance that is about to move away from a host that does not exist.
  pb::Instance CreateMoving() {
    pb::Instance instance = Create();
    instance.set_host("elsewhere");
    instance.set_vm_state("active");
    instance.set_task_state("resize_prep");
    pb::SetInstanceRequest set;
    *set.mutable_instance() = instance;
    set.set_expected_generation(instance.generation());
    pb::SetInstanceResponse placed;
    const grpc::Status status = instances_->SetInstance(Context().get(), set, &placed);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return placed.instance();
  }
  void Allocate(const pb::Instance& instance) {
    const grpc::Status status = Schedule(ChannelTo(placement_->address()), instance.uuid(), node_);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  // A provider with memory, beside the tracker's node; its uuid.
  std::string NodeElsewhere() {
    const auto channel = ChannelTo(placement_->address());
    pb::CreateProviderRequest create;
    create.set_name("elsewhere");
    pb::CreateProviderResponse created;
    grpc::Status status =
        pb::ProviderService::NewStub(channel)->CreateProvider(Context().get(), create, &created);
    EXPECT_TRUE(status.ok()) << status.error_message();
    pb::SetInventoriesRequest set;
    set.set_provider_uuid(created.provider().uuid());
    set.set_expected_generation(created.provider().generation());
    (*set.mutable_inventories())["MEMORY_MB"].set_total(1024);
    pb::SetInventoriesResponse done;
    status = pb::InventoryService::NewStub(channel)->SetInventories(Context().get(), set, &done);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return created.provider().uuid();
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

}  // namespace berth::e2e

#endif  // BERTH_TESTS_E2E_HOST_CLAIM_FIXTURE_H_
