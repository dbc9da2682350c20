#include "placement/records/message.h"

#include <google/protobuf/util/time_util.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/placement/v1/record.pb.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "placement/ground/check.h"

namespace berth::placement {
namespace {

// The id that the text names; none if it is empty.
template <typename IdType>
std::optional<IdType> IdIn(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::optional<IdType> id = IdType::Parse(text);
  BERTH_CHECK(id.has_value());
  return id;
}

google::protobuf::Timestamp TimestampOf(absl::Time time) {
  return google::protobuf::util::TimeUtil::MicrosecondsToTimestamp(absl::ToUnixMicros(time));
}

// The bytes of `message`. Equal messages give equal bytes.
std::string BytesOf(const google::protobuf::MessageLite& message) {
  std::string bytes(message.ByteSizeLong(), '\0');
  google::protobuf::io::ArrayOutputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  return bytes;
}

template <typename Cells, typename Devices, typename Units>
HeldParts::Names NamesIn(const Cells& cells, const Devices& devices, const Units& units) {
  HeldParts::Names names;
  for (const v1::GuestCell& cell : cells) {
    if (!cell.has_host_cell()) continue;
    const auto add = [&](int cpu) { names.insert(absl::StrCat("c", cell.host_cell(), "/", cpu)); };
    for (const auto& [vcpu, cpu] : cell.pinning()) add(cpu);
    for (const int cpu : cell.reserved_cpus()) add(cpu);
  }
  for (const v1::PciDevice& device : devices) names.insert(absl::StrCat("d", device.address()));
  for (const v1::NamedUnit& unit : units) {
    names.insert(
        absl::StrCat("u", unit.provider_uuid(), "/", unit.resource_class(), "/", unit.name()));
  }
  return names;
}

HeldPtr HeldIn(const v1::Instance& message) {
  auto held = std::make_shared<HeldParts>();
  held->own = NamesIn(message.numa_cells(), message.pci_devices(), message.named_units());
  if (message.has_migration_context()) {
    const v1::MigrationContext& from = message.migration_context();
    HeldParts::Context& context = held->context.emplace(HeldParts::Context());
    context.migration = MigrationId::Parse(from.migration_uuid());
    // To the trackers the nil uuid names nothing, too.
    if (context.migration == MigrationId()) context.migration.reset();
    context.has_old_flavor = from.has_old_flavor();
    context.has_new_flavor = from.has_new_flavor();
    context.before = NamesIn(from.old_numa_cells(), from.old_pci_devices(), from.old_named_units());
    context.after = NamesIn(from.new_numa_cells(), from.new_pci_devices(), from.new_named_units());
  }
  if (held->own.empty() && !held->context) return nullptr;
  return held;
}

}  // namespace

InstanceRecord InstanceFrom(v1::Instance message) {
  InstanceRecord record;
  record.id = IdIn<InstanceId>(message.uuid()).value();
  record.name = message.name();
  record.project = message.project_id();
  record.user = message.user_id();
  record.host = message.host();
  record.node = IdIn<ProviderId>(message.node_uuid());
  record.vm_state = message.vm_state();
  record.task_state = message.task_state();
  v1::Flavor& flavor = *message.mutable_flavor();
  record.flavor_id = flavor.id();
  record.flavor = {flavor.vcpus(), flavor.memory_mib(), flavor.root_disk_gib(),
                   flavor.ephemeral_disk_gib(), flavor.swap_mib()};
  record.held = HeldIn(message);
  message.clear_uuid();
  message.clear_generation();
  message.clear_name();
  message.clear_project_id();
  message.clear_user_id();
  message.clear_host();
  message.clear_node_uuid();
  message.clear_vm_state();
  message.clear_task_state();
  message.clear_created_at();
  message.clear_updated_at();
  message.clear_deleted_at();
  flavor.clear_id();
  flavor.clear_vcpus();
  flavor.clear_memory_mib();
  flavor.clear_root_disk_gib();
  flavor.clear_ephemeral_disk_gib();
  flavor.clear_swap_mib();
  record.body = BytesOf(message);
  return record;
}

void FillInstance(const InstanceRecord& instance, v1::Instance* to) {
  to->ParseFromString(instance.body);
  to->set_uuid(instance.id.ToString());
  to->set_generation(instance.generation.value);
  to->set_name(instance.name);
  to->set_project_id(instance.project);
  to->set_user_id(instance.user);
  to->set_host(instance.host);
  if (instance.node) to->set_node_uuid(instance.node->ToString());
  to->set_vm_state(instance.vm_state);
  to->set_task_state(instance.task_state);
  v1::Flavor* const flavor = to->mutable_flavor();
  flavor->set_id(instance.flavor_id);
  flavor->set_vcpus(static_cast<int32_t>(instance.flavor.vcpus));
  flavor->set_memory_mib(instance.flavor.memory_mib);
  flavor->set_root_disk_gib(instance.flavor.root_disk_gib);
  flavor->set_ephemeral_disk_gib(instance.flavor.ephemeral_disk_gib);
  flavor->set_swap_mib(instance.flavor.swap_mib);
  *to->mutable_created_at() = TimestampOf(instance.created_at);
  *to->mutable_updated_at() = TimestampOf(instance.updated_at);
  if (instance.deleted_at) *to->mutable_deleted_at() = TimestampOf(*instance.deleted_at);
}

MigrationRecord MigrationFrom(v1::Migration message) {
  MigrationRecord record;
  record.id = IdIn<MigrationId>(message.uuid()).value();
  record.instance = IdIn<InstanceId>(message.instance_uuid()).value();
  record.type = static_cast<MigrationType>(message.type());
  record.status = message.status();
  record.source_host = message.source_host();
  record.source_node = IdIn<ProviderId>(message.source_node_uuid());
  record.destination_host = message.destination_host();
  record.destination_node = IdIn<ProviderId>(message.destination_node_uuid());
  record.old_flavor_id = message.old_flavor_id();
  record.new_flavor_id = message.new_flavor_id();
  message.clear_uuid();
  message.clear_generation();
  message.clear_instance_uuid();
  message.clear_type();
  message.clear_status();
  message.clear_source_host();
  message.clear_source_node_uuid();
  message.clear_destination_host();
  message.clear_destination_node_uuid();
  message.clear_old_flavor_id();
  message.clear_new_flavor_id();
  message.clear_created_at();
  message.clear_updated_at();
  record.body = BytesOf(message);
  return record;
}

void FillMigration(const MigrationRecord& migration, v1::Migration* to) {
  to->ParseFromString(migration.body);
  to->set_uuid(migration.id.ToString());
  to->set_generation(migration.generation.value);
  to->set_instance_uuid(migration.instance.ToString());
  to->set_type(static_cast<v1::MigrationType>(migration.type));
  to->set_status(migration.status);
  to->set_source_host(migration.source_host);
  if (migration.source_node) to->set_source_node_uuid(migration.source_node->ToString());
  to->set_destination_host(migration.destination_host);
  if (migration.destination_node) {
    to->set_destination_node_uuid(migration.destination_node->ToString());
  }
  to->set_old_flavor_id(migration.old_flavor_id);
  to->set_new_flavor_id(migration.new_flavor_id);
  *to->mutable_created_at() = TimestampOf(migration.created_at);
  *to->mutable_updated_at() = TimestampOf(migration.updated_at);
}

}  // namespace berth::placement
