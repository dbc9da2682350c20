#include "tracker/uplink/record_messages.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "tracker/ground/check.h"
#include "tracker/ground/uuid.h"
#include "tracker/uplink/facts_messages.h"
#include "tracker/uplink/record_words.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;

template <typename Value, size_t kCount>
std::string WireWord(const Word<Value> (&words)[kCount], const std::optional<Value>& value) {
  for (const Word<Value>& word : words) {
    if (value == word.value) return word.text;
  }
  return "";
}

template <typename List>
void WireCpus(const CpuSet& cpus, List* list) {
  for (const int cpu : cpus.Cpus()) list->Add(cpu);
}

template <typename Cells, typename Devices, typename Units>
void WireAssigned(const Assigned& assigned, Cells* cells, std::string* emulator_policy,
                  Devices* devices, Units* units) {
  if (assigned.topology.has_value()) {
    for (const GuestCell& cell : assigned.topology->cells) *cells->Add() = WireGuestCell(cell);
    *emulator_policy = WireWord(kEmulatorPolicies, assigned.topology->emulator_threads_policy);
  }
  for (const std::string& address : assigned.devices) {
    v1::PciDevice* const device = devices->Add();
    device->set_address(address);
    const auto request = assigned.request_ids.find(address);
    if (request != assigned.request_ids.end()) device->set_request_id(request->second);
  }
  for (const NamedUnit& unit : assigned.units) *units->Add() = WireUnit(unit);
}

std::string WireValue(const PropertyValue& value) {
  const auto* const list = std::get_if<std::vector<std::string>>(&value);
  return list != nullptr ? absl::StrJoin(*list, ",") : std::get<std::string>(value);
}

v1::PciRequest WireRequest(const DeviceRequest& request) {
  v1::PciRequest wire;
  wire.set_request_id(request.request_id);
  wire.set_count(static_cast<int32_t>(request.count));
  wire.set_alias(request.alias_name);
  for (const DeviceProperties& alternative : request.alternatives) {
    auto& properties = *wire.add_alternatives()->mutable_properties();
    for (const auto& [name, value] : alternative) properties[name] = WireValue(value);
  }
  if (request.numa_policy != DeviceNumaPolicy::kLegacy) {
    wire.set_numa_policy(std::string(DeviceNumaPolicyName(request.numa_policy)));
  }
  if (!request.providers.has_value()) return wire;
  for (const auto& [uuid, count] : *request.providers) {
    for (int64_t i = 0; i < count; ++i) wire.add_provider_uuids(uuid.ToString());
  }
  return wire;
}

v1::Flavor WireFlavor(const Flavor& flavor) {
  v1::Flavor wire;
  wire.set_id(flavor.id);
  wire.set_vcpus(static_cast<int32_t>(flavor.vcpus));
  wire.set_memory_mib(flavor.memory_mib);
  wire.set_root_disk_gib(flavor.root_disk_gib);
  wire.set_ephemeral_disk_gib(flavor.ephemeral_disk_gib);
  wire.set_swap_mib(flavor.swap_mib);
  wire.mutable_extra_specs()->insert(flavor.extra_specs.begin(), flavor.extra_specs.end());
  return wire;
}

v1::MigrationContext WireContext(const MigrationContext& context) {
  v1::MigrationContext wire;
  wire.set_migration_uuid(TextOrEmpty(context.migration_uuid));
  if (context.old_flavor.has_value()) *wire.mutable_old_flavor() = WireFlavor(*context.old_flavor);
  if (context.new_flavor.has_value()) *wire.mutable_new_flavor() = WireFlavor(*context.new_flavor);
  WireAssigned(context.old_assigned, wire.mutable_old_numa_cells(),
               wire.mutable_old_emulator_threads_policy(), wire.mutable_old_pci_devices(),
               wire.mutable_old_named_units());
  WireAssigned(context.new_assigned, wire.mutable_new_numa_cells(),
               wire.mutable_new_emulator_threads_policy(), wire.mutable_new_pci_devices(),
               wire.mutable_new_named_units());
  for (const DeviceRequest& request : context.old_device_requests) {
    *wire.add_old_pci_requests() = WireRequest(request);
  }
  for (const DeviceRequest& request : context.new_device_requests) {
    *wire.add_new_pci_requests() = WireRequest(request);
  }
  return wire;
}

v1::MoveEnd WireEnd(const std::string& status) {
  if (status == "confirmed") return v1::MOVE_END_CONFIRMED;
  if (status == "reverted") return v1::MOVE_END_REVERTED;
  if (status == "completed") return v1::MOVE_END_COMPLETED;
  BERTH_CHECK(status == "failed");  // claims/ending.cc and claims/repair.cc end moves with no other
  return v1::MOVE_END_FAILED;
}

}  // namespace

Flavor ReadFlavor(const v1::Flavor& wire) {
  const auto& specs = wire.extra_specs();
  return {wire.id(),
          wire.vcpus(),
          wire.memory_mib(),
          wire.root_disk_gib(),
          wire.ephemeral_disk_gib(),
          wire.swap_mib(),
          {specs.begin(), specs.end()}};
}

v1::GuestCell WireGuestCell(const GuestCell& cell) {
  v1::GuestCell wire;
  if (cell.host_cell) wire.set_host_cell(*cell.host_cell);
  WireCpus(cell.shared_cpus, wire.mutable_shared_cpus());
  WireCpus(cell.pinned_cpus, wire.mutable_pinned_cpus());
  wire.set_memory_mib(cell.memory_mib);
  wire.set_page_size_kib(cell.page_size_kib);
  wire.set_cpu_policy(WireWord(kCpuPolicies, cell.cpu_policy));
  wire.set_cpu_thread_policy(WireWord(kThreadPolicies, cell.cpu_thread_policy));
  wire.mutable_pinning()->insert(cell.pinning.begin(), cell.pinning.end());
  WireCpus(cell.reserved_cpus, wire.mutable_reserved_cpus());
  return wire;
}

v1::NamedUnit WireUnit(const NamedUnit& unit) {
  v1::NamedUnit wire;
  wire.set_provider_uuid(unit.provider_uuid.ToString());
  wire.set_resource_class(unit.resource_class);
  wire.set_name(unit.name);
  return wire;
}

v1::Instance WireInstance(const Instance& instance) {
  v1::Instance wire;
  wire.set_uuid(instance.uuid.ToString());
  wire.set_generation(instance.generation);
  wire.set_host(instance.on.host);
  wire.set_node_uuid(TextOrEmpty(instance.on.node_uuid));
  wire.set_claimed_generation(instance.claimed_generation);
  wire.set_launched_on(instance.launched_on);
  wire.set_project_id(instance.project_id);
  wire.set_vm_state(instance.vm_state);
  wire.set_task_state(instance.task_state);
  *wire.mutable_flavor() = WireFlavor(instance.flavor);
  WireAssigned(instance.assigned, wire.mutable_numa_cells(), wire.mutable_emulator_threads_policy(),
               wire.mutable_pci_devices(), wire.mutable_named_units());
  for (const DeviceRequest& request : instance.device_requests) {
    *wire.add_pci_requests() = WireRequest(request);
  }
  if (!instance.boot_from_volume) {
    wire.mutable_image()->mutable_properties()->insert(instance.image.begin(),
                                                       instance.image.end());
  }
  if (instance.context.has_value()) {
    *wire.mutable_migration_context() = WireContext(*instance.context);
  }
  wire.set_hidden(instance.hidden);
  return wire;
}

v1::Migration WireMigration(const Migration& migration) {
  v1::Migration wire;
  wire.set_uuid(migration.uuid.ToString());
  wire.set_generation(migration.generation);
  wire.set_instance_uuid(migration.instance_uuid.ToString());
  wire.set_type(migration.type == MigrationType::kCold     ? v1::MIGRATION_TYPE_COLD
                : migration.type == MigrationType::kResize ? v1::MIGRATION_TYPE_RESIZE
                : migration.type == MigrationType::kLive   ? v1::MIGRATION_TYPE_LIVE
                                                           : v1::MIGRATION_TYPE_EVACUATION);
  wire.set_status(migration.status);
  wire.set_source_host(migration.source.host);
  wire.set_source_node_uuid(TextOrEmpty(migration.source.node_uuid));
  wire.set_destination_host(migration.destination.host);
  wire.set_destination_node_uuid(TextOrEmpty(migration.destination.node_uuid));
  wire.set_old_flavor_id(migration.old_flavor_id);
  wire.set_new_flavor_id(migration.new_flavor_id);
  *wire.mutable_created_at() = WireTime(migration.created_at);
  if (migration.updated_at) *wire.mutable_updated_at() = WireTime(*migration.updated_at);
  return wire;
}

v1::RecordWrite WireWrite(const RecordWrites::Outgoing& write, const Uuid& node_uuid) {
  v1::RecordWrite wire;
  wire.set_write_id(write.id);
  wire.set_node_uuid(node_uuid.ToString());
  if (write.withdraw) {
    wire.set_withdraw(true);
    wire.mutable_instance()->set_uuid(write.instance.uuid.ToString());
    wire.mutable_instance()->set_generation(write.instance.generation);
    if (write.migration) {
      wire.mutable_migration()->set_uuid(write.migration->uuid.ToString());
      wire.mutable_migration()->set_generation(write.migration->generation);
    }
    return wire;
  }
  *wire.mutable_instance() = WireInstance(write.instance);
  if (!write.sets_state) wire.mutable_instance()->clear_vm_state();
  if (write.migration) *wire.mutable_migration() = WireMigration(*write.migration);
  if (write.ends_move) wire.set_end(WireEnd(write.migration->status));
  return wire;
}

}  // namespace berth::tracker
