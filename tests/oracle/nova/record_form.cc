#include "tests/oracle/nova/record_form.h"

#include "absl/strings/str_cat.h"
#include "tests/processes/short_uuid.h"

namespace berth::oracle::nova {
namespace {

using tracker::GuestCell;
using tracker::Instance;
using tracker::Migration;
using tracker::MigrationContext;

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json DescribeTopology(const std::optional<tracker::GuestTopology>& topology) {
  if (!topology.has_value()) return Json();
  Json cells = Json::array();
  for (const GuestCell& cell : topology->cells) {
    Json pinning = Json::object();
    for (const auto& [vcpu, cpu] : cell.pinning) pinning[absl::StrCat(vcpu)] = cpu;
    cells.push_back({{"host_cell", cell.host_cell.value_or(-1)},
                     {"memory_mb", cell.memory_mib},
                     {"page_size_kb", cell.page_size_kib == 0 ? Json() : Json(cell.page_size_kib)},
                     {"pinned_cpus", cell.pinned_cpus.Cpus()},
                     {"pinning", pinning},
                     {"reserved_cpus", cell.reserved_cpus.Cpus()},
                     {"shared_cpus", cell.shared_cpus.Cpus()}});
  }
  return cells;
}

std::string TypeName(tracker::MigrationType type) {
  static constexpr const char* kNames[] = {"migration", "resize", "live-migration", "evacuation"};
  return kNames[static_cast<int>(type)];
}

std::string FlavorName(const NovaWorld& world, const std::string& id) {
  for (const auto& [name, flavor] : world.flavors) {
    if (flavor.id == id) return name;
  }
  return "";
}

}  // namespace

void SetValues(const NovaWorld& world, const Json& values, Instance* instance) {
  if (values.contains("apply_context") && instance->context.has_value()) {
    instance->assigned = instance->context->new_assigned;
    instance->device_requests = instance->context->new_device_requests;
  }
  if (values.value("drop_context", false)) instance->context.reset();
  for (const auto& [key, value] : values.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    if (key == "vm_state") instance->vm_state = text;
    if (key == "task_state") instance->task_state = text;
    if (key == "host") instance->on.host = text;
    if (key == "node") instance->on.node_uuid = tracker::ShortUuid(text);
    if (key == "flavor") instance->flavor = world.flavors.at(text);
    if (key == "numa_topology") instance->assigned.topology.reset();
    if (key == "migration_context") {
      instance->context = ReadContext(world, value, Json(), Json(), instance->flavor);
    }
  }
  for (const char* key : {"old_flavor", "new_flavor"}) {
    const Json name = values.value(key, Json());
    if (name.is_null()) continue;
    if (!instance->context.has_value()) instance->context = MigrationContext();
    auto& flavor = std::string(key) == "old_flavor" ? instance->context->old_flavor
                                                    : instance->context->new_flavor;
    flavor = world.flavors.at(name);
  }
}

Json DescribeInstance(const NovaWorld& world, const Instance& instance) {
  Json described = {{"flavor", FlavorName(world, instance.flavor.id)},
                    {"host", TextOrNull(instance.on.host)},
                    {"node", TextOrNull(tracker::ShortName(instance.on.node_uuid))},
                    {"launched_on", TextOrNull(instance.launched_on)},
                    {"task_state", TextOrNull(instance.task_state)},
                    {"vm_state", instance.vm_state},
                    {"numa", DescribeTopology(instance.assigned.topology)},
                    {"migration_context", Json()}};
  if (!instance.context.has_value() || IsNil(instance.context->migration_uuid)) return described;
  const MigrationContext& context = *instance.context;
  described["migration_context"] = {{"migration", tracker::ShortName(context.migration_uuid)},
                                    {"old_numa", DescribeTopology(context.old_assigned.topology)},
                                    {"new_numa", DescribeTopology(context.new_assigned.topology)},
                                    {"old_pci_devices", context.old_assigned.devices},
                                    {"new_pci_devices", context.new_assigned.devices}};
  return described;
}

Json DescribeMigration(const NovaWorld& world, const Migration& migration) {
  return {{"uuid", tracker::ShortName(migration.uuid)},
          {"type", TypeName(migration.type)},
          {"status", migration.status},
          {"source_host", TextOrNull(migration.source.host)},
          {"source_node", TextOrNull(tracker::ShortName(migration.source.node_uuid))},
          {"dest_host", TextOrNull(migration.destination.host)},
          {"dest_node", TextOrNull(tracker::ShortName(migration.destination.node_uuid))},
          {"old_flavor", FlavorName(world, migration.old_flavor_id)},
          {"new_flavor", FlavorName(world, migration.new_flavor_id)}};
}

}  // namespace berth::oracle::nova
