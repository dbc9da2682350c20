#include "tests/e2e/scheduling/site.h"

#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/candidate.grpc.pb.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "berth/placement/v1/server_group.grpc.pb.h"
#include "placement/ground/uuid.h"
#include "services/client/cpp/call.h"
#include "tests/e2e/stub_call.h"
#include "tests/fault/await.h"
#include "tests/processes/identity.h"

namespace berth::e2e {
namespace {

using AllocationCalls = pb::AllocationService;
using CandidateCalls = pb::CandidateService;
using FleetCalls = pb::FleetService;
using GroupCalls = pb::ServerGroupService;
using InstanceCalls = pb::InstanceService;
using TrackerCalls = tracker_pb::TrackerService;

constexpr absl::Duration kWait = absl::Seconds(60);

// The path of a file with a machine for libvirt's test driver, which has 3 CPUs whatever the file
// says.
std::string WriteMachine(const std::string& directory, int64_t memory_mib) {
  const std::string path = directory + "/machine.xml";
  std::ofstream(path) << "<node><cpu><mhz>2600</mhz><model>x86_64</model><active>3</active>"
                         "<nodes>1</nodes><sockets>1</sockets><cores>3</cores><threads>1</threads>"
                         "</cpu><memory>"
                      << memory_mib * 1024 << "</memory></node>\n";
  return path;
}

}  // namespace

client::Hosts::Views FollowedHosts::ViewsAt(const pb::Revision& revision,
                                            const std::vector<std::string>& nodes) {
  EXPECT_NE(mirror_.Await(revision, kWait), nullptr) << InWords(mirror_.status().failure);
  client::Hosts::Views views = hosts_.ViewsOf({nodes.begin(), nodes.end()});
  EXPECT_GE(client::Compare(views.revision, revision), 0);
  return views;
}

client::Hosts::Host FollowedHosts::ViewAt(const pb::Revision& revision, const std::string& node) {
  const client::Hosts::Views views = ViewsAt(revision, {node});
  EXPECT_EQ(views.hosts.size(), 1U);
  return views.hosts.empty() ? std::make_shared<const client::HostView>() : views.hosts[0];
}

Site::Site(std::vector<std::string> placement_arguments)
    : placement_(StartOrDie(scratch_.path(), std::move(placement_arguments))),
      channel_(ConnectTo(*placement_)),
      endpoints_(std::make_shared<client::Endpoints>(
          std::vector<std::string>{placement_->address()}, CredentialsOf())) {}

Site::Host* Site::AddHost(const std::string& name, int64_t memory_mib,
                          const std::string& instances_path,
                          const std::vector<std::string>& arguments) {
  Host* const host = hosts_.emplace_back(std::make_unique<Host>()).get();
  host->name = name;
  const std::string machine = WriteMachine(host->directory.path(), memory_mib);
  std::vector<std::string> all = {"--log-format=text", "--host=" + name,
                                  absl::StrCat("--hypervisor=node-of-", name, "=test://", machine),
                                  "--placement=" + placement_->address(),
                                  "--instances-path=" + instances_path};
  all.insert(all.end(), arguments.begin(), arguments.end());
  host->tracker = std::make_unique<TrackerProcess>(host->directory.path(), std::move(all));
  EXPECT_TRUE(host->tracker->AwaitAddress().ok()) << host->tracker->Log();
  host->channel = ConnectTo(*host->tracker);
  // The tracker takes claims once placement has its report and it has placement's records.
  EXPECT_TRUE(fault::AwaitWithin(kWait, [host] {
    const tracker_pb::GetNodeViewResponse view = AccountOf(*host);
    host->node = view.node().node_uuid();
    return view.node().acknowledged_sequence() > 0 && !view.providers().empty();
  })) << host->tracker->Log();
  return host;
}

pb::Flavor Site::FlavorOf(int64_t memory_mib, int vcpus, int64_t disk_gib) {
  pb::Flavor flavor;
  flavor.set_id("flavor");
  flavor.set_memory_mib(memory_mib);
  flavor.set_vcpus(vcpus);
  flavor.set_root_disk_gib(disk_gib);
  return flavor;
}

pb::Instance Site::NewInstance(const pb::Flavor& flavor, const std::string& group) {
  pb::Instance record;
  record.set_uuid(placement::Uuid::Random().ToString());
  record.set_project_id("p");
  record.set_user_id("u");
  record.set_vm_state("building");
  record.set_task_state("spawning");
  record.set_group_uuid(group);
  record.mutable_image()->set_id("image");  // without one its disk would be a volume
  *record.mutable_flavor() = flavor;
  return record;
}

std::string Site::NewGroup(pb::ServerGroupPolicy policy) {
  pb::SetServerGroupRequest request;
  request.mutable_group()->set_uuid(placement::Uuid::Random().ToString());
  request.mutable_group()->set_project_id("p");
  request.mutable_group()->set_user_id("u");
  request.mutable_group()->set_policy(policy);
  return MustCall<GroupCalls>(channel_, &GroupCalls::Stub::SetServerGroup, request).group().uuid();
}

client::Failure Site::Place(const Host& host, pb::Instance* instance) {
  return Place(host, pb::Flavor(instance->flavor()), instance);
}

client::Failure Site::Place(const Host& host, const pb::Flavor& amounts, pb::Instance* instance) {
  pb::ClaimRequest request;
  pb::ClaimConsumer& consumer = *request.mutable_consumer();
  consumer.set_consumer_uuid(instance->uuid());
  consumer.mutable_new_consumer();
  consumer.set_project_id(instance->project_id());
  consumer.set_user_id(instance->user_id());
  consumer.set_consumer_type("INSTANCE");
  *consumer.mutable_instance() = *instance;
  pb::RequestGroup& group = *request.mutable_query()->add_groups();
  group.set_in_tree(host.node);
  auto& resources = *group.mutable_resources();
  if (amounts.vcpus() > 0) resources["VCPU"] = amounts.vcpus();
  if (amounts.memory_mib() > 0) resources["MEMORY_MB"] = amounts.memory_mib();
  if (amounts.root_disk_gib() > 0) resources["DISK_GB"] = amounts.root_disk_gib();
  pb::ClaimResponse claimed;
  client::Failure failure =
      client::Write(endpoints_.get(), &CandidateCalls::Stub::Claim, request, &claimed);
  if (failure.ok()) *instance = Read(*instance);
  return failure;
}

pb::Instance Site::Store(const pb::Instance& record) {
  pb::SetInstanceRequest request;
  *request.mutable_instance() = record;
  if (record.generation() != 0) request.set_expected_generation(record.generation());
  return MustCall<InstanceCalls>(channel_, &InstanceCalls::Stub::SetInstance, request).instance();
}

void Site::Release(const pb::Instance& instance) {
  pb::DeleteAllocationsRequest request;
  request.set_consumer_uuid(instance.uuid());
  MustCall<AllocationCalls>(channel_, &AllocationCalls::Stub::DeleteAllocations, request);
}

pb::Instance Site::Read(const pb::Instance& instance) {
  pb::GetInstanceRequest request;
  request.set_instance_uuid(instance.uuid());
  return MustCall<InstanceCalls>(channel_, &InstanceCalls::Stub::GetInstance, request).instance();
}

std::vector<std::string> Site::HeldBy(const pb::Instance& instance) {
  pb::GetAllocationsRequest request;
  request.set_consumer_uuid(instance.uuid());
  const pb::Consumer holder =
      MustCall<AllocationCalls>(channel_, &AllocationCalls::Stub::GetAllocations, request)
          .consumer();
  std::vector<std::string> providers;
  for (const auto& row : holder.allocations()) providers.push_back(row.provider_uuid());
  return providers;
}

grpc::Status Site::ClaimOn(const Host& host, const pb::Instance& instance,
                           const tracker_pb::Limits* limits) {
  tracker_pb::ClaimInstanceRequest request;
  request.set_node_uuid(host.node);
  *request.mutable_instance() = instance;
  if (limits != nullptr) *request.mutable_limits() = *limits;
  tracker_pb::ClaimInstanceResponse claimed;
  return TryCall<TrackerCalls>(host.channel, &TrackerCalls::Stub::ClaimInstance, request, &claimed);
}

void Site::Abort(const Host& host, const pb::Instance& instance) {
  tracker_pb::AbortClaimRequest request;
  request.set_node_uuid(host.node);
  request.set_claim_id(absl::StrCat(instance.uuid(), "/", instance.generation()));
  EXPECT_TRUE(
      MustCall<TrackerCalls>(host.channel, &TrackerCalls::Stub::AbortClaim, request).aborted());
}

pb::Revision Site::Audit(const Host& host) {
  pb::AuditNodeRequest request;
  request.set_node_uuid(host.node);
  return MustCall<FleetCalls>(channel_, &FleetCalls::Stub::AuditNode, request).revision();
}

tracker_pb::GetNodeViewResponse Site::AccountOf(const Host& host) {
  return MustCall<TrackerCalls>(host.channel, &TrackerCalls::Stub::GetNodeView,
                                tracker_pb::GetNodeViewRequest());
}

pb::Service Site::ServiceOf(const Host& host) {
  pb::ListServicesRequest request;
  request.set_host(host.name);
  const auto listed =
      MustCall<FleetCalls>(channel_, &FleetCalls::Stub::ListServices, request).services();
  EXPECT_EQ(listed.size(), 1);
  return listed.empty() ? pb::Service() : listed[0];
}

pb::Revision Site::Disable(const Host& host) {
  pb::DisableServiceRequest request;
  request.set_service_uuid(ServiceOf(host).uuid());
  request.set_reason("new disks");
  return MustCall<FleetCalls>(channel_, &FleetCalls::Stub::DisableService, request).revision();
}

pb::ListHostStatesResponse Site::StatesAt(const pb::Revision& revision) {
  pb::ListHostStatesRequest request;
  *request.mutable_minimum_revision() = revision;
  request.set_view(pb::NODE_VIEW_FULL);
  return MustCall<pb::HostStateService>(channel_, &pb::HostStateService::Stub::ListHostStates,
                                        request);
}

}  // namespace berth::e2e
