#include "services/wire/instance.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "placement/values/faults.h"

namespace berth::services {

using placement::Generation;
using placement::InstanceId;
using placement::InstanceRecord;
using placement::MigrationId;
using placement::MigrationRecord;
using placement::ProviderId;

namespace {

absl::Status ReadNode(absl::string_view field, const std::string& text,
                      std::optional<ProviderId>* to) {
  if (text.empty()) return absl::OkStatus();
  BERTH_ASSIGN_OR_RETURN(*to, ParseId<ProviderId>(field, text));
  return absl::OkStatus();
}

void ClearAmounts(pb::Flavor* flavor) {
  flavor->clear_vcpus();
  flavor->clear_memory_mib();
  flavor->clear_root_disk_gib();
  flavor->clear_ephemeral_disk_gib();
  flavor->clear_swap_mib();
}

// The bytes of the fields of `instance` that InstanceRecord has no field for. Equal messages give
// equal bytes.
std::string DetailsOf(pb::Instance instance) {
  instance.clear_uuid();
  instance.clear_generation();
  instance.clear_name();
  instance.clear_project_id();
  instance.clear_user_id();
  instance.clear_host();
  instance.clear_node_uuid();
  instance.clear_vm_state();
  instance.clear_task_state();
  instance.clear_created_at();
  instance.clear_updated_at();
  instance.clear_deleted_at();
  ClearAmounts(instance.mutable_flavor());
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    instance.SerializeToCodedStream(&out);
  }
  return bytes;
}

constexpr int kIdMax = 65535;        // of host cells, host CPUs and virtual CPUs
constexpr int kPageSizeMin = -3;     // -1, -2 and -3 are words for sizes
constexpr int kPciRequestMax = 256;  // devices of one request

absl::Status InRange(const std::string& field, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return InvalidField(field, absl::StrCat("must be ", min, " to ", max, ", but is ", value));
}

absl::Status IsAmount(const std::string& field, int64_t value) {
  return InRange(field, value, 0, placement::kAmountMax);
}

template <typename Ids>
absl::Status AreIds(const std::string& field, const Ids& ids) {
  for (const int id : ids) BERTH_RETURN_IF_ERROR(InRange(field, id, 0, kIdMax));
  return absl::OkStatus();
}

template <typename Cells>
absl::Status CheckCells(const std::string& path, const Cells& cells) {
  for (int i = 0; i < cells.size(); ++i) {
    const pb::GuestCell& cell = cells[i];
    const std::string at = absl::StrCat(path, "[", i, "]");
    if (cell.has_host_cell()) {
      BERTH_RETURN_IF_ERROR(InRange(at + ".host_cell", cell.host_cell(), 0, kIdMax));
    }
    BERTH_RETURN_IF_ERROR(AreIds(at + ".shared_cpus", cell.shared_cpus()));
    BERTH_RETURN_IF_ERROR(AreIds(at + ".pinned_cpus", cell.pinned_cpus()));
    BERTH_RETURN_IF_ERROR(AreIds(at + ".reserved_cpus", cell.reserved_cpus()));
    for (const auto& [vcpu, cpu] : cell.pinning()) {
      BERTH_RETURN_IF_ERROR(InRange(at + ".pinning", vcpu, 0, kIdMax));
      BERTH_RETURN_IF_ERROR(InRange(at + ".pinning", cpu, 0, kIdMax));
    }
    BERTH_RETURN_IF_ERROR(IsAmount(at + ".memory_mib", cell.memory_mib()));
    BERTH_RETURN_IF_ERROR(
        InRange(at + ".page_size_kib", cell.page_size_kib(), kPageSizeMin, placement::kAmountMax));
  }
  return absl::OkStatus();
}

template <typename Requests>
absl::Status CheckRequests(const std::string& path, const Requests& requests) {
  for (int i = 0; i < requests.size(); ++i) {
    const std::string at = absl::StrCat(path, "[", i, "]");
    BERTH_RETURN_IF_ERROR(InRange(at + ".count", requests[i].count(), 1, kPciRequestMax));
    if (requests[i].provider_uuids_size() <= requests[i].count()) continue;
    return InvalidField(at + ".provider_uuids", "must name no more providers than devices");
  }
  return absl::OkStatus();
}

absl::Status CheckFlavor(const std::string& path, const pb::Flavor& flavor) {
  BERTH_RETURN_IF_ERROR(IsAmount(path + ".vcpus", flavor.vcpus()));
  BERTH_RETURN_IF_ERROR(IsAmount(path + ".memory_mib", flavor.memory_mib()));
  BERTH_RETURN_IF_ERROR(IsAmount(path + ".root_disk_gib", flavor.root_disk_gib()));
  BERTH_RETURN_IF_ERROR(IsAmount(path + ".ephemeral_disk_gib", flavor.ephemeral_disk_gib()));
  return IsAmount(path + ".swap_mib", flavor.swap_mib());
}

absl::Status CheckContext(const std::string& path, const pb::MigrationContext& context) {
  BERTH_RETURN_IF_ERROR(CheckFlavor(path + ".old_flavor", context.old_flavor()));
  BERTH_RETURN_IF_ERROR(CheckFlavor(path + ".new_flavor", context.new_flavor()));
  BERTH_RETURN_IF_ERROR(CheckCells(path + ".old_numa_cells", context.old_numa_cells()));
  BERTH_RETURN_IF_ERROR(CheckCells(path + ".new_numa_cells", context.new_numa_cells()));
  BERTH_RETURN_IF_ERROR(CheckRequests(path + ".old_pci_requests", context.old_pci_requests()));
  return CheckRequests(path + ".new_pci_requests", context.new_pci_requests());
}

// Adds the names of the host CPUs, devices and units.
template <typename Cells, typename Devices, typename Units>
void AddNames(const Cells& cells, const Devices& devices, const Units& units,
              std::set<std::string>* names) {
  for (const pb::GuestCell& cell : cells) {
    if (!cell.has_host_cell()) continue;
    const auto add = [&](int cpu) {
      names->insert(absl::StrCat("CPU ", cpu, " of cell ", cell.host_cell()));
    };
    for (const auto& [vcpu, cpu] : cell.pinning()) add(cpu);
    for (const int cpu : cell.reserved_cpus()) add(cpu);
  }
  for (const pb::PciDevice& device : devices) names->insert("PCI device " + device.address());
  for (const pb::NamedUnit& unit : units) {
    names->insert(absl::StrCat("unit ", unit.name(), " of ", unit.resource_class(), " of provider ",
                               unit.provider_uuid()));
  }
}

// Fill in the record that the command has put, if it has put one.
template <typename Response>
void FillPutInstance(const WriteAnswer& answer, Response* response) {
  for (const placement::Change& change : *answer.decision.changes) {
    const auto* put = std::get_if<placement::InstancePut>(&change);
    if (put != nullptr) FillInstance(*put->instance, response->mutable_instance());
  }
}
template <typename Response>
void FillPutMigration(const WriteAnswer& answer, Response* response) {
  for (const placement::Change& change : *answer.decision.changes) {
    const auto* put = std::get_if<placement::MigrationPut>(&change);
    if (put != nullptr) FillMigration(*put->migration, response->mutable_migration());
  }
}

// The tracker process that the request names; none if it names none.
template <typename Request>
absl::StatusOr<std::optional<placement::TrackerProcess>> TrackerOf(const Request& request) {
  std::optional<placement::TrackerProcess> tracker;
  if (!request.has_tracker()) return tracker;
  const std::optional<placement::Uuid> incarnation =
      placement::Uuid::Parse(request.tracker().incarnation());
  if (!incarnation) return InvalidField("tracker.incarnation", "is not a uuid");
  tracker = {request.tracker().host(), *incarnation};
  return tracker;
}

}  // namespace

absl::Status CheckNumbers(const std::string& path, const pb::Instance& instance) {
  BERTH_RETURN_IF_ERROR(CheckCells(path + ".numa_cells", instance.numa_cells()));
  BERTH_RETURN_IF_ERROR(CheckRequests(path + ".pci_requests", instance.pci_requests()));
  BERTH_RETURN_IF_ERROR(IsAmount(path + ".retry.attempts", instance.retry().attempts()));
  return CheckContext(path + ".migration_context", instance.migration_context());
}

void FillInstance(const InstanceRecord& instance, pb::Instance* to) {
  to->ParseFromString(instance.details);
  to->set_uuid(instance.id.ToString());
  to->set_generation(instance.generation.value);
  to->set_name(instance.name);
  to->set_project_id(instance.project);
  to->set_user_id(instance.user);
  to->set_host(instance.host);
  if (instance.node) to->set_node_uuid(instance.node->ToString());
  to->set_vm_state(instance.vm_state);
  to->set_task_state(instance.task_state);
  pb::Flavor* const flavor = to->mutable_flavor();
  flavor->set_vcpus(static_cast<int32_t>(instance.flavor.vcpus));
  flavor->set_memory_mib(instance.flavor.memory_mib);
  flavor->set_root_disk_gib(instance.flavor.root_disk_gib);
  flavor->set_ephemeral_disk_gib(instance.flavor.ephemeral_disk_gib);
  flavor->set_swap_mib(instance.flavor.swap_mib);
  SetTime(instance.created_at, to->mutable_created_at());
  SetTime(instance.updated_at, to->mutable_updated_at());
  if (instance.deleted_at) SetTime(*instance.deleted_at, to->mutable_deleted_at());
}

void FillMigration(const MigrationRecord& migration, pb::Migration* to) {
  to->set_uuid(migration.id.ToString());
  to->set_generation(migration.generation.value);
  to->set_instance_uuid(migration.instance.ToString());
  to->set_type(static_cast<pb::MigrationType>(migration.type));
  to->set_status(migration.status);
  to->set_source_host(migration.source_host);
  if (migration.source_node) to->set_source_node_uuid(migration.source_node->ToString());
  to->set_destination_host(migration.destination_host);
  if (migration.destination_node) {
    to->set_destination_node_uuid(migration.destination_node->ToString());
  }
  to->set_old_flavor_id(migration.old_flavor_id);
  to->set_new_flavor_id(migration.new_flavor_id);
  SetTime(migration.created_at, to->mutable_created_at());
  SetTime(migration.updated_at, to->mutable_updated_at());
}

absl::StatusOr<InstanceRecord> InstanceOf(const std::string& path, const pb::Instance& from) {
  InstanceRecord instance;
  BERTH_ASSIGN_OR_RETURN(const auto id, ParseId<InstanceId>(path + ".uuid", from.uuid()));
  if (!from.has_flavor()) return InvalidField(path + ".flavor", "is required");
  instance.id = id;
  instance.name = from.name();
  instance.project = from.project_id();
  instance.user = from.user_id();
  instance.host = from.host();
  BERTH_RETURN_IF_ERROR(ReadNode(path + ".node_uuid", from.node_uuid(), &instance.node));
  instance.vm_state = from.vm_state();
  instance.task_state = from.task_state();
  const pb::Flavor& flavor = from.flavor();
  instance.flavor = {flavor.vcpus(), flavor.memory_mib(), flavor.root_disk_gib(),
                     flavor.ephemeral_disk_gib(), flavor.swap_mib()};
  pb::Instance details = from;
  BERTH_RETURN_IF_ERROR(MakeUuidsCanonical(path, &details));
  BERTH_RETURN_IF_ERROR(CheckNumbers(path, details));
  instance.details = DetailsOf(std::move(details));
  return instance;
}

absl::StatusOr<MigrationRecord> MigrationOf(const pb::Migration& from) {
  MigrationRecord migration;
  BERTH_ASSIGN_OR_RETURN(const auto id, ParseId<MigrationId>("migration.uuid", from.uuid()));
  BERTH_ASSIGN_OR_RETURN(const auto instance,
                         ParseId<InstanceId>("migration.instance_uuid", from.instance_uuid()));
  migration.id = id;
  migration.instance = instance;
  migration.type = static_cast<placement::MigrationType>(from.type());
  migration.status = from.status();
  migration.source_host = from.source_host();
  BERTH_RETURN_IF_ERROR(
      ReadNode("migration.source_node_uuid", from.source_node_uuid(), &migration.source_node));
  migration.destination_host = from.destination_host();
  BERTH_RETURN_IF_ERROR(ReadNode("migration.destination_node_uuid", from.destination_node_uuid(),
                                 &migration.destination_node));
  migration.old_flavor_id = from.old_flavor_id();
  migration.new_flavor_id = from.new_flavor_id();
  return migration;
}

placement::HeldParts ReadHeld(const InstanceRecord& record) {
  pb::Instance details;
  details.ParseFromString(record.details);
  placement::HeldParts held;
  held.flavor_id = details.flavor().id();
  AddNames(details.numa_cells(), details.pci_devices(), details.named_units(), &held.own);
  if (!details.has_migration_context()) return held;
  const pb::MigrationContext& from = details.migration_context();
  placement::HeldParts::Context& context = held.context.emplace(placement::HeldParts::Context());
  context.migration = MigrationId::Parse(from.migration_uuid());
  // To the trackers the nil uuid names nothing, too.
  if (context.migration == MigrationId()) context.migration.reset();
  context.has_old_flavor = from.has_old_flavor();
  context.has_new_flavor = from.has_new_flavor();
  AddNames(from.old_numa_cells(), from.old_pci_devices(), from.old_named_units(), &context.before);
  AddNames(from.new_numa_cells(), from.new_pci_devices(), from.new_named_units(), &context.after);
  return held;
}

absl::StatusOr<placement::CommandBody> SetInstanceCommand(const pb::SetInstanceRequest& request) {
  if (!request.has_instance()) return InvalidField("instance", "is required");
  BERTH_ASSIGN_OR_RETURN(auto record, InstanceOf("instance", request.instance()));
  BERTH_ASSIGN_OR_RETURN(auto tracker, TrackerOf(request));
  return placement::SetInstance{std::move(record), ExpectedGeneration(request), std::move(tracker),
                                request.reason(), ReadHeld};
}

absl::StatusOr<placement::CommandBody> DeleteInstanceCommand(
    const pb::DeleteInstanceRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id,
                         ParseId<InstanceId>("instance_uuid", request.instance_uuid()));
  return placement::DeleteInstance{id, ExpectedGeneration(request), request.reason(),
                                   request.release()};
}

absl::StatusOr<placement::CommandBody> CreateMigrationCommand(
    const pb::CreateMigrationRequest& request) {
  if (!request.has_migration()) return InvalidField("migration", "is required");
  BERTH_ASSIGN_OR_RETURN(auto record, MigrationOf(request.migration()));
  BERTH_ASSIGN_OR_RETURN(auto tracker, TrackerOf(request));
  return placement::CreateMigration{std::move(record), std::move(tracker), request.reason(),
                                    ReadHeld};
}

absl::StatusOr<placement::CommandBody> UpdateMigrationCommand(
    const pb::UpdateMigrationRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id,
                         ParseId<MigrationId>("migration_uuid", request.migration_uuid()));
  BERTH_ASSIGN_OR_RETURN(auto tracker, TrackerOf(request));
  placement::UpdateMigration command{id, request.expected_status(), request.status(), {},
                                     {}, std::move(tracker),        request.reason(), ReadHeld};
  if (request.has_destination_host()) command.destination_host = request.destination_host();
  if (request.has_destination_node_uuid()) {
    BERTH_RETURN_IF_ERROR(ReadNode("destination_node_uuid", request.destination_node_uuid(),
                                   &command.destination_node.emplace()));
  }
  return command;
}

absl::StatusOr<placement::CommandBody> EndMoveCommand(const pb::EndMoveRequest& request) {
  placement::EndMove command;
  BERTH_ASSIGN_OR_RETURN(command.migration,
                         ParseId<MigrationId>("migration_uuid", request.migration_uuid()));
  command.end = static_cast<placement::MoveEnd>(request.end());
  command.expected_generation = ExpectedGeneration(request);
  if (request.has_instance()) {
    BERTH_ASSIGN_OR_RETURN(auto record, InstanceOf("instance", request.instance()));
    command.instance = std::make_shared<const InstanceRecord>(std::move(record));
  }
  if (request.has_expected_instance_generation()) {
    command.expected_instance_generation = Generation{request.expected_instance_generation()};
  }
  if (request.has_expected_instance_consumer_generation()) {
    command.expected_instance_consumer =
        Generation{request.expected_instance_consumer_generation()};
  }
  if (request.has_expected_migration_consumer_generation()) {
    command.expected_migration_consumer =
        Generation{request.expected_migration_consumer_generation()};
  }
  BERTH_ASSIGN_OR_RETURN(command.tracker, TrackerOf(request));
  command.reason = request.reason();
  command.read_held = ReadHeld;
  return command;
}

void FillSetInstance(const WriteAnswer& answer, pb::SetInstanceResponse* response) {
  FillPutInstance(answer, response);
}

void FillCreateMigration(const WriteAnswer& answer, pb::CreateMigrationResponse* response) {
  FillPutMigration(answer, response);
}

void FillUpdateMigration(const WriteAnswer& answer, pb::UpdateMigrationResponse* response) {
  FillPutMigration(answer, response);
}

void FillEndMove(const WriteAnswer& answer, pb::EndMoveResponse* response) {
  FillPutMigration(answer, response);
  FillPutInstance(answer, response);
  // The migration's consumer holds nothing now, so it is not among these.
  for (const auto& [consumer, generation] : answer.decision.result.consumers) {
    response->set_instance_consumer_generation(generation.value);
  }
}

}  // namespace berth::services
