#include "tests/e2e/two_hosts.h"

#include <chrono>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "placement/ground/uuid.h"
#include "tests/e2e/stub_call.h"

namespace berth::e2e {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;

namespace {

using InstanceCalls = pb::InstanceService;
using AllocationCalls = pb::AllocationService;
using TrackerCalls = tracker_pb::TrackerService;

}  // namespace

TwoHosts::TwoHosts()
    : instance_(placement::Uuid::Random().ToString()),
      migration_(placement::Uuid::Random().ToString()),
      placement_(StartOrDie(scratch_.path())),
      channel_(ConnectTo(*placement_)) {
  for (Host* const host : {&source_, &destination_}) StartTracker(host);
}

void TwoHosts::StartTracker(Host* host) {
  const std::vector<std::string> arguments = {
      "--log-format=text",
      "--host=" + host->name,
      absl::StrCat("--hypervisor=node-of-", host->name, "=test:///default"),
      "--placement=" + placement_->address(),
      "--virt-type=qemu",  // a node of type test offers no NUMA cells
      "--orphans=report",  // the driver's guest is larger than its host
      "--cpu-shared-set=0",
      "--cpu-dedicated-set=2,4"};
  host->tracker = std::make_unique<TrackerProcess>(host->directory.path(), arguments);
  EXPECT_TRUE(host->tracker->AwaitAddress().ok()) << host->tracker->Log();
  EXPECT_TRUE(Eventually([&] {
    const tracker_pb::GetNodeViewResponse view = View(*host);
    host->node = view.node().node_uuid();
    return view.node().acknowledged_sequence() > 0 && view.providers_size() > 0;
  })) << host->tracker->Log();
}

bool TwoHosts::Eventually(const std::function<bool()>& holds) {
  const absl::Time until = absl::Now() + absl::Minutes(1);
  while (!holds()) {
    if (absl::Now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

pb::Flavor TwoHosts::FlavorOf(const std::string& id, int vcpus, int64_t memory_mib) {
  pb::Flavor flavor;
  flavor.set_id(id);
  flavor.set_vcpus(vcpus);
  flavor.set_memory_mib(memory_mib);
  (*flavor.mutable_extra_specs())["hw:cpu_policy"] = "dedicated";
  return flavor;
}

pb::ConsumerAllocations TwoHosts::Wish(const std::string& consumer, const Host& host,
                                       const pb::Flavor& flavor) {
  pb::ConsumerAllocations wish;
  wish.set_consumer_uuid(consumer);
  wish.set_project_id("p");
  wish.set_user_id("u");
  wish.set_consumer_type(consumer == migration_ ? "MIGRATION" : "INSTANCE");
  const pb::Consumer now = Consumer(consumer);
  if (now.uuid().empty()) {
    wish.mutable_new_consumer();
  } else {
    wish.set_generation(now.generation());
  }
  pb::ProviderAllocation* const row = wish.add_allocations();
  row->set_provider_uuid(host.node);
  (*row->mutable_resources())["PCPU"] = flavor.vcpus();
  (*row->mutable_resources())["MEMORY_MB"] = flavor.memory_mib();
  return wish;
}

void TwoHosts::Build(const pb::Flavor& flavor) {
  pb::Instance record;
  record.set_uuid(instance_);
  record.set_project_id("p");
  record.set_user_id("u");
  record.set_vm_state("building");
  record.set_task_state("spawning");
  *record.mutable_flavor() = flavor;
  pb::GuestCell* const cell = record.add_numa_cells();
  for (int vcpu = 0; vcpu < flavor.vcpus(); ++vcpu) cell->add_pinned_cpus(vcpu);
  cell->set_memory_mib(flavor.memory_mib());
  cell->set_cpu_policy("dedicated");
  record = Store(record);

  pb::SetAllocationsRequest allocate;
  *allocate.add_consumers() = Wish(instance_, source_, flavor);
  MustCall<AllocationCalls>(channel_, &AllocationCalls::Stub::SetAllocations, allocate);
  tracker_pb::ClaimInstanceRequest claim;
  claim.set_node_uuid(source_.node);
  *claim.mutable_instance() = record;
  MustCall<TrackerCalls>(ConnectTo(*source_.tracker), &TrackerCalls::Stub::ClaimInstance, claim);

  record = Instance();
  record.set_vm_state("active");
  record.clear_task_state();
  Store(record);
}

void TwoHosts::BeginMove(pb::MigrationType type, const pb::Flavor& flavor) {
  pb::Instance record = Instance();
  record.set_task_state("resize_prep");
  Store(record);
  pb::SetAllocationsRequest swap;
  *swap.add_consumers() = Wish(migration_, source_, record.flavor());
  *swap.add_consumers() = Wish(instance_, destination_, flavor);
  MustCall<AllocationCalls>(channel_, &AllocationCalls::Stub::SetAllocations, swap);
  pb::CreateMigrationRequest create;
  pb::Migration& migration = *create.mutable_migration();
  migration.set_uuid(migration_);
  migration.set_instance_uuid(instance_);
  migration.set_type(type);
  migration.set_source_host(source_.name);
  migration.set_source_node_uuid(source_.node);
  migration.set_old_flavor_id(record.flavor().id());
  migration.set_new_flavor_id(flavor.id());
  MustCall<InstanceCalls>(channel_, &InstanceCalls::Stub::CreateMigration, create);
}

void TwoHosts::ClaimMove(const pb::Flavor& flavor) {
  tracker_pb::ClaimMoveRequest claim;
  claim.set_node_uuid(destination_.node);
  *claim.mutable_instance() = Instance();
  *claim.mutable_migration() = Migration();
  *claim.mutable_new_flavor() = flavor;
  MustCall<TrackerCalls>(ConnectTo(*destination_.tracker), &TrackerCalls::Stub::ClaimMove, claim);
}

void TwoHosts::Arrive() {
  SetStatus("finished");
  pb::Instance record = Instance();
  record.set_host(destination_.name);
  record.set_node_uuid(destination_.node);
  *record.mutable_flavor() = record.migration_context().new_flavor();
  *record.mutable_numa_cells() = record.migration_context().new_numa_cells();
  record.set_vm_state("resized");
  record.clear_task_state();
  Store(record);
}

grpc::Status TwoHosts::DropSide(const Host& host, tracker_pb::MoveSide side, bool* dropped) {
  tracker_pb::DropMoveClaimRequest request;
  request.set_node_uuid(host.node);
  request.set_instance_uuid(instance_);
  request.set_migration_uuid(migration_);
  request.set_side(side);
  tracker_pb::DropMoveClaimResponse response;
  grpc::Status status = TryCall<TrackerCalls>(
      ConnectTo(*host.tracker), &TrackerCalls::Stub::DropMoveClaim, request, &response);
  *dropped = response.dropped();
  return status;
}

void TwoHosts::AwaitRecord(const Host& host, const pb::Instance& record) {
  tracker_pb::UpdateUsageRequest request;
  request.set_node_uuid(host.node);
  *request.mutable_instance() = record;
  EXPECT_TRUE(
      MustCall<TrackerCalls>(ConnectTo(*host.tracker), &TrackerCalls::Stub::UpdateUsage, request)
          .tracked());
}

pb::Instance TwoHosts::Store(const pb::Instance& record) {
  pb::SetInstanceRequest request;
  *request.mutable_instance() = record;
  if (record.generation() != 0) request.set_expected_generation(record.generation());
  return MustCall<InstanceCalls>(channel_, &InstanceCalls::Stub::SetInstance, request).instance();
}

pb::Instance TwoHosts::Instance() {
  pb::GetInstanceRequest request;
  request.set_instance_uuid(instance_);
  return MustCall<InstanceCalls>(channel_, &InstanceCalls::Stub::GetInstance, request).instance();
}

pb::Migration TwoHosts::Migration() {
  pb::GetMigrationRequest request;
  request.set_migration_uuid(migration_);
  return MustCall<InstanceCalls>(channel_, &InstanceCalls::Stub::GetMigration, request).migration();
}

void TwoHosts::SetStatus(const std::string& status) {
  pb::UpdateMigrationRequest request;
  request.set_migration_uuid(migration_);
  request.set_expected_status(Migration().status());
  request.set_status(status);
  MustCall<InstanceCalls>(channel_, &InstanceCalls::Stub::UpdateMigration, request);
}

pb::Consumer TwoHosts::Consumer(const std::string& uuid) {
  pb::GetAllocationsRequest request;
  request.set_consumer_uuid(uuid);
  return MustCall<AllocationCalls>(channel_, &AllocationCalls::Stub::GetAllocations, request)
      .consumer();
}

std::string TwoHosts::HeldBy(const std::string& consumer) {
  std::map<std::string, std::string> rows;
  const pb::Consumer holder = Consumer(consumer);
  for (const pb::ProviderAllocation& row : holder.allocations()) {
    const std::map<std::string, int64_t> amounts(row.resources().begin(), row.resources().end());
    const std::string& host = row.provider_uuid() == source_.node        ? source_.name
                              : row.provider_uuid() == destination_.node ? destination_.name
                                                                         : row.provider_uuid();
    rows[host] = absl::StrJoin(amounts, " ", absl::PairFormatter(":"));
  }
  return absl::StrJoin(rows, " ", [](std::string* out, const auto& row) {
    absl::StrAppend(out, row.first, "{", row.second, "}");
  });
}

tracker_pb::GetNodeViewResponse TwoHosts::View(const Host& host) {
  return MustCall<TrackerCalls>(ConnectTo(*host.tracker), &TrackerCalls::Stub::GetNodeView,
                                tracker_pb::GetNodeViewRequest());
}

std::string TwoHosts::AccountOf(const Host& host) {
  const tracker_pb::GetNodeViewResponse view = View(host);
  std::vector<int> cpus;
  for (const pb::NumaCellUsage& cell : view.account().numa_usage()) {
    cpus.insert(cpus.end(), cell.pinned_cpus().begin(), cell.pinned_cpus().end());
  }
  return absl::StrCat(view.account().instances().memory_mib(), " MiB, moving ",
                      view.account().migrations().memory_mib(), " MiB, CPUs ",
                      absl::StrJoin(cpus, ","));
}

void TwoHosts::ExpectAccounts(const std::string& source, const std::string& destination) {
  EXPECT_TRUE(Eventually([&] {
    return AccountOf(source_) == source && AccountOf(destination_) == destination;
  })) << "h1: "
      << AccountOf(source_) << "\nh2: " << AccountOf(destination_);
}

}  // namespace berth::e2e
