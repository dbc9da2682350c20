#include "tests/oracle/nova/nova_world.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/processes/short_uuid.h"

namespace berth::oracle::nova {
namespace {

using tracker::CpuSet;
using tracker::CpuThreadPolicy;
using tracker::Flavor;
using tracker::GuestCell;
using tracker::GuestTopology;
using tracker::HostAndNode;

CpuSet ReadCpus(const Json& cpus) {
  CpuSet set;
  for (const Json& cpu : cpus) set.Insert(cpu);
  return set;
}

std::string TextOr(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found == from.end() || found->is_null() ? "" : found->get<std::string>();
}

const Json& At(const Json& from, const char* key) {
  static const Json null;
  const auto found = from.find(key);
  return found == from.end() ? null : *found;
}

tracker::NumaTopology ReadHostCells(const Json& cells) {
  tracker::NumaTopology topology;
  for (const Json& from : cells) {
    tracker::NumaCell cell;
    cell.id = from.at("id");
    cell.cpus = ReadCpus(from.at("cpuset"));
    cell.dedicated_cpus = ReadCpus(from.at("pcpuset"));
    cell.memory_mib = from.at("memory_mb");
    for (const Json& core : from.at("siblings")) cell.siblings.push_back(ReadCpus(core));
    for (const Json& pages : from.at("mempages")) {
      cell.pages.push_back({pages.at("size_kb"), pages.at("total"), 0, pages.at("reserved")});
    }
    if (!from.at("socket").is_null()) cell.socket = from.at("socket").get<int>();
    topology.cells.push_back(std::move(cell));
  }
  return topology;
}

// Every device of the recordings is an 8086:1533 with the alias `nic`.
void ReadDevices(const Json& devices, NovaWorld* world) {
  std::vector<std::string> specs;
  for (const Json& from : devices) {
    tracker::PciDevice device;
    device.address = from.at("address");
    device.dev_id = absl::StrCat("pci_", device.address);
    device.vendor_id = "8086";
    device.product_id = "1533";
    device.dev_type = "type-PCI";
    if (!from.at("numa_cell").is_null()) device.numa_node = from.at("numa_cell").get<int>();
    world->resources.devices.push_back(std::move(device));
  }
  if (devices.empty()) return;
  const std::string ids = R"("vendor_id": "8086", "product_id": "1533")";
  world->resources.device_specs =
      *tracker::DeviceSpecs::Parse({absl::StrCat("{", ids, "}")}, tracker::DeviceSpecLimits());
  const std::string policy = devices.front().at("policy");
  world->aliases = *tracker::ParseDeviceAliases(
      {absl::StrCat("{\"name\": \"nic\", ", ids, ", \"numa_policy\": \"", policy, "\"}")});
}

void SetPolicies(const Flavor& flavor, GuestTopology* topology) {
  const auto& specs = flavor.extra_specs;
  const auto text = [&](const char* key) {
    const auto found = specs.find(key);
    return found == specs.end() ? std::string() : found->second;
  };
  if (text("hw:emulator_threads_policy") == "isolate") {
    topology->emulator_threads_policy = tracker::EmulatorThreadsPolicy::kIsolate;
  }
  for (GuestCell& cell : topology->cells) {
    if (text("hw:cpu_policy") == "dedicated") cell.cpu_policy = tracker::CpuPolicy::kDedicated;
    if (text("hw:cpu_policy") == "mixed") cell.cpu_policy = tracker::CpuPolicy::kMixed;
    const std::string threads = text("hw:cpu_thread_policy");
    if (threads == "prefer") cell.cpu_thread_policy = CpuThreadPolicy::kPrefer;
    if (threads == "isolate") cell.cpu_thread_policy = CpuThreadPolicy::kIsolate;
    if (threads == "require") cell.cpu_thread_policy = CpuThreadPolicy::kRequire;
  }
}

Flavor ReadFlavor(const Json& from) {
  Flavor flavor;
  flavor.id = absl::StrCat(from.at("id").get<int>());
  flavor.vcpus = from.at("vcpus");
  flavor.memory_mib = from.at("memory_mb");
  flavor.root_disk_gib = from.at("root_gb");
  flavor.ephemeral_disk_gib = from.at("ephemeral_gb");
  flavor.swap_mib = from.at("swap_mb");
  for (const auto& [key, value] : from.at("extra_specs").items()) flavor.extra_specs[key] = value;
  return flavor;
}

std::optional<Flavor> NamedFlavor(const NovaWorld& world, const Json& name) {
  if (name.is_null()) return std::nullopt;
  return world.flavors.at(name);
}

tracker::MigrationType ReadType(const std::string& word) {
  if (word == "resize") return tracker::MigrationType::kResize;
  if (word == "live-migration") return tracker::MigrationType::kLive;
  if (word == "evacuation") return tracker::MigrationType::kEvacuation;
  return tracker::MigrationType::kCold;
}

std::vector<tracker::DeviceRequest> ReadRequests(const NovaWorld& world, const Json& requests) {
  std::vector<tracker::DeviceRequest> read;
  for (const Json& from : requests) {
    const std::string alias = from.at("alias");
    tracker::DeviceRequest request;
    request.request_id = from.at("request_id");
    request.count = from.at("count");
    request.alias_name = alias;
    request.alternatives = world.aliases.at(alias).alternatives;
    request.numa_policy =
        *tracker::ParseDeviceNumaPolicy(from.at("numa_policy").get<std::string>());
    read.push_back(std::move(request));
  }
  return read;
}

Json NamesOf(const auto& uuids) {
  Json names = Json::array();
  for (const tracker::Uuid& uuid : uuids) names.push_back(tracker::ShortName(uuid));
  return names;
}

Json NamesOf(const std::map<tracker::Uuid, tracker::Uuid>& uuids) {
  Json names = Json::object();
  for (const auto& [key, uuid] : uuids) names[tracker::ShortName(key)] = tracker::ShortName(uuid);
  return names;
}

Json NamesOf(const std::map<std::string, tracker::Uuid>& uuids) {
  Json names = Json::object();
  for (const auto& [key, uuid] : uuids) names[key] = tracker::ShortName(uuid);
  return names;
}

}  // namespace

NovaWorld ReadWorld(const Json& setup) {
  NovaWorld world;
  world.self = {setup.at("host"), ReadUuid(setup.at("node"))};
  const Json& facts = setup.at("facts");
  const Json& options = setup.at("options");
  world.resources.total = {facts.at("vcpus"), facts.at("memory_mb"),
                           facts.at("local_gb").get<int64_t>() * tracker::kMibPerGib};
  world.resources.reserve = {options.at("reserved_host_cpus"),
                             options.at("reserved_host_memory_mb"),
                             options.at("reserved_host_disk_mb")};
  if (setup.contains("cells")) world.resources.topology = ReadHostCells(setup.at("cells"));
  if (setup.contains("pci_devices")) ReadDevices(setup.at("pci_devices"), &world);
  const Json& units = At(setup, "named_units");
  for (const auto& [resource_class, names] : units.items()) {
    for (const std::string name : names) {
      world.resources.units.insert({ReadUuid(setup.at("node_uuid")), resource_class, name});
    }
  }
  for (const auto& [name, flavor] : setup.at("flavors").items()) {
    world.flavors[name] = ReadFlavor(flavor);
  }
  return world;
}

std::optional<GuestTopology> ReadTopology(const Json& cells, const Flavor& flavor) {
  if (cells.is_null()) return std::nullopt;
  GuestTopology topology;
  for (const Json& from : cells) {
    GuestCell cell;
    const Json& host_cell = from.at("host_cell");
    if (!host_cell.is_null() && host_cell.get<int>() >= 0) cell.host_cell = host_cell.get<int>();
    cell.memory_mib = from.at("memory_mb");
    const Json& page_size = from.at("page_size_kb");
    if (!page_size.is_null()) cell.page_size_kib = page_size;
    cell.shared_cpus = ReadCpus(from.at("shared_cpus"));
    cell.pinned_cpus = ReadCpus(from.at("pinned_cpus"));
    cell.reserved_cpus = ReadCpus(from.at("reserved_cpus"));
    for (const auto& [vcpu, cpu] : from.at("pinning").items()) cell.pinning[std::stoi(vcpu)] = cpu;
    topology.cells.push_back(std::move(cell));
  }
  SetPolicies(flavor, &topology);
  return topology;
}

std::optional<tracker::MigrationContext> ReadContext(const NovaWorld& world, const Json& context,
                                                     const Json& old_flavor, const Json& new_flavor,
                                                     const Flavor& flavor) {
  if (context.is_null() && old_flavor.is_null() && new_flavor.is_null()) return std::nullopt;
  tracker::MigrationContext read;
  read.old_flavor = NamedFlavor(world, old_flavor);
  read.new_flavor = NamedFlavor(world, new_flavor);
  if (context.is_null()) return read;
  read.migration_uuid = ReadUuid(context.at("migration"));
  read.old_assigned.topology =
      ReadTopology(At(context, "old_numa"), read.old_flavor.value_or(flavor));
  read.new_assigned.topology =
      ReadTopology(At(context, "new_numa"), read.new_flavor.value_or(flavor));
  return read;
}

tracker::Instance ReadInstance(const NovaWorld& world, const Json& record) {
  tracker::Instance instance;
  instance.uuid = ReadUuid(record.at("uuid"));
  instance.on = {TextOr(record, "host"), tracker::ShortUuid(TextOr(record, "node"))};
  instance.project_id = record.at("project_id");
  instance.vm_state = record.at("vm_state");
  instance.task_state = TextOr(record, "task_state");
  instance.flavor = world.flavors.at(record.at("flavor"));
  instance.boot_from_volume = record.at("boot_from_volume");
  instance.assigned.topology = ReadTopology(At(record, "numa"), instance.flavor);
  if (record.contains("pci_requests")) {
    instance.device_requests = ReadRequests(world, record.at("pci_requests"));
  }
  instance.context = ReadContext(world, At(record, "migration_context"), At(record, "old_flavor"),
                                 At(record, "new_flavor"), instance.flavor);
  instance.deleted = record.value("deleted", false);
  instance.hidden = record.value("hidden", false);
  return instance;
}

tracker::Migration ReadMigration(const NovaWorld& world, const Json& record) {
  tracker::Migration migration;
  migration.uuid = ReadUuid(record.at("uuid"));
  migration.instance_uuid = ReadUuid(record.at("instance"));
  migration.type = ReadType(record.at("type"));
  migration.status = TextOr(record, "status");
  migration.source = {TextOr(record, "source_host"),
                      tracker::ShortUuid(TextOr(record, "source_node"))};
  migration.destination = {TextOr(record, "dest_host"),
                           tracker::ShortUuid(TextOr(record, "dest_node"))};
  migration.old_flavor_id = world.flavors.at(record.at("old_flavor")).id;
  migration.new_flavor_id = world.flavors.at(record.at("new_flavor")).id;
  migration.created_at = absl::FromUnixSeconds(record.value("created_at_s", 0));
  if (record.contains("updated_at_s") && !record.at("updated_at_s").is_null()) {
    migration.updated_at = absl::FromUnixSeconds(record.at("updated_at_s").get<int64_t>());
  }
  return migration;
}

tracker::ClaimLimits ReadLimits(const Json& limits) {
  tracker::ClaimLimits read;
  if (limits.is_null()) return read;
  const auto amount = [&](const char* key) -> std::optional<int64_t> {
    const Json& value = At(limits, key);
    if (value.is_null()) return std::nullopt;
    return static_cast<int64_t>(value.get<double>());
  };
  read.memory_mib = amount("memory_mb");
  read.disk_gib = amount("disk_gb");
  read.vcpus = amount("vcpu");
  const Json& cells = At(limits, "numa_topology");
  if (!cells.is_null()) {
    read.cells =
        tracker::CellLimits{cells.at("cpu_allocation_ratio"), cells.at("ram_allocation_ratio")};
  }
  return read;
}

std::vector<tracker::UnitAmount> ReadUnits(const Json& allocations) {
  std::vector<tracker::UnitAmount> units;
  for (const auto& [provider, from] : allocations.items()) {
    for (const auto& [resource_class, amount] : from.at("resources").items()) {
      units.push_back({tracker::ShortUuid(provider), resource_class, amount});
    }
  }
  return units;
}

Json DescribeAccount(const tracker::NodeAccount& account) {
  const tracker::Amounts used = account.used();
  const tracker::Amounts free = account.free();
  Json described;
  described["node"] = {{"vcpus_used", used.vcpus},
                       {"memory_mb_used", used.memory_mib},
                       {"local_gb_used", account.used_disk_gib()},
                       {"free_ram_mb", free.memory_mib},
                       {"free_disk_gb", account.free_disk_gib()},
                       {"running_vms", account.statistics().instances()},
                       {"current_workload", account.statistics().current_workload()}};
  described["stats"] = account.statistics().Counters();
  if (account.failed_builds() > 0) described["stats"]["failed_builds"] = account.failed_builds();
  described["cells"] = Json::array();
  for (const tracker::HostCell& cell : account.owners().cells()) {
    Json pages = Json::object();
    for (const tracker::NumaPages& size : cell.offer.pages) {
      const auto used_pages = cell.usage.pages_by_size_kib.find(size.size_kib);
      pages[absl::StrCat(size.size_kib)] =
          used_pages == cell.usage.pages_by_size_kib.end() ? 0 : used_pages->second;
    }
    described["cells"].push_back({{"id", cell.offer.id},
                                  {"cpu_usage", cell.usage.shared_cpus},
                                  {"memory_usage_mb", cell.usage.memory_mib},
                                  {"pages_used", pages},
                                  {"pinned_cpus", cell.usage.pinned_cpus.Cpus()}});
  }
  described["tracked_instances"] = NamesOf(account.tracked_instances());
  described["tracked_migrations"] = NamesOf(account.tracked_migrations());
  described["pci_devices"] = NamesOf(account.owners().by_device());
  described["named_units_assigned"] = Json::array();
  for (const auto& [unit, owner] : account.owners().by_unit()) {
    described["named_units_assigned"].push_back(unit.name);
  }
  return described;
}

Json DescribeNaively(const NovaWorld& world, const tracker::NaiveAccount& account,
                     int64_t failed_builds) {
  const tracker::Amounts& total = world.resources.total;
  const int64_t disk_gib = account.disk_mib_used / 1024;
  Json described;
  described["node"] = {{"vcpus_used", account.vcpus_used},
                       {"memory_mb_used", account.memory_mib_used},
                       {"local_gb_used", disk_gib},
                       {"free_ram_mb", total.memory_mib - account.memory_mib_used},
                       {"free_disk_gb", total.disk_mib / 1024 - disk_gib},
                       {"running_vms", account.tracked_instances.size()},
                       {"current_workload", account.current_workload}};
  described["stats"] = account.counters;
  if (failed_builds > 0) described["stats"]["failed_builds"] = failed_builds;
  described["cells"] = Json::array();
  for (const auto& [id, cell] : account.cells) {
    Json pages = Json::object();
    for (const auto& [size, used] : cell.pages) pages[absl::StrCat(size)] = used;
    described["cells"].push_back({{"id", id},
                                  {"cpu_usage", cell.shared_cpus},
                                  {"memory_usage_mb", cell.memory_mib},
                                  {"pages_used", pages},
                                  {"pinned_cpus", cell.pinned_cpus}});
  }
  described["tracked_instances"] = NamesOf(account.tracked_instances);
  described["tracked_migrations"] = NamesOf(account.tracked_migrations);
  described["pci_devices"] = NamesOf(account.device_owners);
  described["named_units_assigned"] = Json::array();
  for (const auto& [unit, owner] : account.unit_owners) {
    described["named_units_assigned"].push_back(unit.name);
  }
  return described;
}

}  // namespace berth::oracle::nova
