#include "tracker/uplink/record_messages.h"

#include <google/protobuf/util/time_util.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tracker/ground/check.h"
#include "tracker/uplink/facts_messages.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using google::protobuf::util::TimeUtil;

template <typename Value>
struct Word {
  const char* text;
  Value value;
};
constexpr Word<CpuPolicy> kCpuPolicies[] = {{"shared", CpuPolicy::kShared},
                                            {"dedicated", CpuPolicy::kDedicated},
                                            {"mixed", CpuPolicy::kMixed}};
constexpr Word<CpuThreadPolicy> kThreadPolicies[] = {{"prefer", CpuThreadPolicy::kPrefer},
                                                     {"isolate", CpuThreadPolicy::kIsolate},
                                                     {"require", CpuThreadPolicy::kRequire}};
constexpr Word<EmulatorThreadsPolicy> kEmulatorPolicies[] = {
    {"share", EmulatorThreadsPolicy::kShare}, {"isolate", EmulatorThreadsPolicy::kIsolate}};

// Reads the parts of one record, and notes which part could not be read.
class RecordReader {
 public:
  // Reads one of `words`. An empty text is an absent value.
  template <typename Value, size_t kCount>
  std::optional<Value> ReadWord(const Word<Value> (&words)[kCount], const std::string& text,
                                const char* what) {
    if (text.empty()) return std::nullopt;
    for (const Word<Value>& word : words) {
      if (text == word.text) return word.value;
    }
    Note(absl::StrCat("it has the ", what, " `", text, "`"));
    return std::nullopt;
  }

  template <typename List>
  CpuSet ReadCpus(const List& cpus) {
    CpuSet set;
    for (const int cpu : cpus) {
      if (IsCpu(cpu)) set.Insert(cpu);
    }
    return set;
  }

  GuestCell ReadCell(const v1::GuestCell& wire) {
    GuestCell cell;
    if (wire.has_host_cell()) cell.host_cell = wire.host_cell();
    cell.shared_cpus = ReadCpus(wire.shared_cpus());
    cell.pinned_cpus = ReadCpus(wire.pinned_cpus());
    cell.memory_mib = wire.memory_mib();
    cell.page_size_kib = wire.page_size_kib();
    cell.cpu_policy = ReadWord(kCpuPolicies, wire.cpu_policy(), "cpu_policy");
    cell.cpu_thread_policy =
        ReadWord(kThreadPolicies, wire.cpu_thread_policy(), "cpu_thread_policy");
    for (const auto& [vcpu, cpu] : wire.pinning()) {
      if (IsCpu(vcpu) && IsCpu(cpu)) cell.pinning.emplace(vcpu, cpu);
    }
    cell.reserved_cpus = ReadCpus(wire.reserved_cpus());
    return cell;
  }

  template <typename Cells, typename Devices, typename Units>
  Assigned ReadAssigned(const Cells& cells, const std::string& emulator_policy,
                        const Devices& devices, const Units& units) {
    Assigned assigned;
    if (!cells.empty()) {
      GuestTopology& topology = assigned.topology.emplace();
      topology.emulator_threads_policy =
          ReadWord(kEmulatorPolicies, emulator_policy, "emulator_threads_policy");
      for (const v1::GuestCell& cell : cells) topology.cells.push_back(ReadCell(cell));
    }
    for (const v1::PciDevice& device : devices) assigned.devices.push_back(device.address());
    for (const v1::NamedUnit& unit : units) {
      assigned.units.push_back({unit.provider_uuid(), unit.resource_class(), unit.name()});
    }
    return assigned;
  }

  template <typename Requests>
  std::vector<DeviceRequest> ReadRequests(const Requests& wire) {
    std::vector<DeviceRequest> requests;
    for (const v1::PciRequest& item : wire) {
      DeviceRequest& request = requests.emplace_back();
      request.request_id = item.request_id();
      request.count = item.count();
      request.alias_name = item.alias();
      // The devices of a port are not asked for by an alias of the flavor.
      request.source = item.alias().empty() ? DeviceRequestSource::kNeutronPort
                                            : DeviceRequestSource::kFlavorAlias;
      for (const v1::PciProperties& alternative : item.alternatives()) {
        DeviceProperties& properties = request.alternatives.emplace_back();
        for (const auto& [name, value] : alternative.properties()) properties[name] = value;
      }
      const auto policy = ParseDeviceNumaPolicy(item.numa_policy());
      if (policy.ok()) request.numa_policy = *policy;
      if (!policy.ok() && !item.numa_policy().empty()) Note(std::string(policy.status().message()));
      if (!item.provider_uuids().empty()) request.providers = ReadShares(item);
    }
    return requests;
  }

  MigrationContext ReadContext(const v1::MigrationContext& wire) {
    MigrationContext context;
    context.migration_uuid = wire.migration_uuid();
    if (wire.has_old_flavor()) context.old_flavor = ReadFlavor(wire.old_flavor());
    if (wire.has_new_flavor()) context.new_flavor = ReadFlavor(wire.new_flavor());
    context.old_assigned = ReadAssigned(wire.old_numa_cells(), wire.old_emulator_threads_policy(),
                                        wire.old_pci_devices(), wire.old_named_units());
    context.new_assigned = ReadAssigned(wire.new_numa_cells(), wire.new_emulator_threads_policy(),
                                        wire.new_pci_devices(), wire.new_named_units());
    context.old_device_requests = ReadRequests(wire.old_pci_requests());
    context.new_device_requests = ReadRequests(wire.new_pci_requests());
    return context;
  }

  // Empty: everything was read.
  const std::string& unreadable() const { return unreadable_; }

 private:
  void Note(std::string text) {
    if (unreadable_.empty()) unreadable_ = std::move(text);
  }
  bool IsCpu(int cpu) {
    if (cpu >= 0 && cpu <= CpuSet::kMaxCpu) return true;
    Note(absl::StrCat("it names CPU ", cpu));
    return false;
  }
  // A request names a provider once for each device. If it names fewer, the first has the rest.
  static std::map<std::string, int64_t> ReadShares(const v1::PciRequest& wire) {
    std::map<std::string, int64_t> shares;
    for (const std::string& uuid : wire.provider_uuids()) ++shares[uuid];
    const int64_t missing = wire.count() - wire.provider_uuids_size();
    if (missing > 0) shares[wire.provider_uuids(0)] += missing;
    return shares;
  }

  std::string unreadable_;
};

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
  for (const std::string& address : assigned.devices) devices->Add()->set_address(address);
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
    for (int64_t i = 0; i < count; ++i) wire.add_provider_uuids(uuid);
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
  wire.set_migration_uuid(context.migration_uuid);
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

absl::Time ReadTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixNanos(TimeUtil::TimestampToNanoseconds(time));
}

v1::MoveEnd WireEnd(const std::string& status) {
  if (status == "confirmed") return v1::MOVE_END_CONFIRMED;
  if (status == "reverted") return v1::MOVE_END_REVERTED;
  if (status == "completed") return v1::MOVE_END_COMPLETED;
  BERTH_CHECK(status == "failed");
  return v1::MOVE_END_FAILED;
}

}  // namespace

Flavor ReadFlavor(const v1::Flavor& wire) {
  Flavor flavor;
  flavor.id = wire.id();
  flavor.vcpus = wire.vcpus();
  flavor.memory_mib = wire.memory_mib();
  flavor.root_disk_gib = wire.root_disk_gib();
  flavor.ephemeral_disk_gib = wire.ephemeral_disk_gib();
  flavor.swap_mib = wire.swap_mib();
  flavor.extra_specs.insert(wire.extra_specs().begin(), wire.extra_specs().end());
  return flavor;
}

Instance ReadInstance(const v1::Instance& wire) {
  RecordReader reader;
  Instance instance;
  instance.uuid = wire.uuid();
  instance.generation = wire.generation();
  instance.on = {wire.host(), wire.node_uuid()};
  instance.claimed_generation = wire.claimed_generation();
  instance.project_id = wire.project_id();
  instance.vm_state = wire.vm_state();
  instance.task_state = wire.task_state();
  instance.flavor = ReadFlavor(wire.flavor());
  instance.boot_from_volume = !wire.has_image();
  instance.assigned = reader.ReadAssigned(wire.numa_cells(), wire.emulator_threads_policy(),
                                          wire.pci_devices(), wire.named_units());
  instance.device_requests = reader.ReadRequests(wire.pci_requests());
  instance.image.insert(wire.image().properties().begin(), wire.image().properties().end());
  if (wire.has_migration_context()) instance.context = reader.ReadContext(wire.migration_context());
  instance.deleted = wire.has_deleted_at();
  if (wire.has_updated_at()) instance.updated_at = ReadTime(wire.updated_at());
  instance.hidden = wire.hidden();
  instance.unreadable = reader.unreadable();
  return instance;
}

Migration ReadMigration(const v1::Migration& wire) {
  Migration migration;
  migration.uuid = wire.uuid();
  migration.generation = wire.generation();
  migration.instance_uuid = wire.instance_uuid();
  switch (wire.type()) {
    case v1::MIGRATION_TYPE_RESIZE:
      migration.type = MigrationType::kResize;
      break;
    case v1::MIGRATION_TYPE_LIVE:
      migration.type = MigrationType::kLive;
      break;
    case v1::MIGRATION_TYPE_EVACUATION:
      migration.type = MigrationType::kEvacuation;
      break;
    default:
      migration.type = MigrationType::kCold;
  }
  migration.status = wire.status();
  migration.source = {wire.source_host(), wire.source_node_uuid()};
  migration.destination = {wire.destination_host(), wire.destination_node_uuid()};
  migration.old_flavor_id = wire.old_flavor_id();
  migration.new_flavor_id = wire.new_flavor_id();
  migration.created_at = ReadTime(wire.created_at());
  if (wire.has_updated_at()) migration.updated_at = ReadTime(wire.updated_at());
  return migration;
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
  wire.set_provider_uuid(unit.provider_uuid);
  wire.set_resource_class(unit.resource_class);
  wire.set_name(unit.name);
  return wire;
}

v1::Instance WireInstance(const Instance& instance) {
  v1::Instance wire;
  wire.set_uuid(instance.uuid);
  wire.set_generation(instance.generation);
  wire.set_host(instance.on.host);
  wire.set_node_uuid(instance.on.node_uuid);
  wire.set_claimed_generation(instance.claimed_generation);
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
  wire.set_uuid(migration.uuid);
  wire.set_generation(migration.generation);
  wire.set_instance_uuid(migration.instance_uuid);
  wire.set_type(migration.type == MigrationType::kCold     ? v1::MIGRATION_TYPE_COLD
                : migration.type == MigrationType::kResize ? v1::MIGRATION_TYPE_RESIZE
                : migration.type == MigrationType::kLive   ? v1::MIGRATION_TYPE_LIVE
                                                           : v1::MIGRATION_TYPE_EVACUATION);
  wire.set_status(migration.status);
  wire.set_source_host(migration.source.host);
  wire.set_source_node_uuid(migration.source.node_uuid);
  wire.set_destination_host(migration.destination.host);
  wire.set_destination_node_uuid(migration.destination.node_uuid);
  wire.set_old_flavor_id(migration.old_flavor_id);
  wire.set_new_flavor_id(migration.new_flavor_id);
  *wire.mutable_created_at() = WireTime(migration.created_at);
  if (migration.updated_at) *wire.mutable_updated_at() = WireTime(*migration.updated_at);
  return wire;
}

v1::RecordWrite WireWrite(const RecordWrites::Outgoing& write, const std::string& node_uuid) {
  v1::RecordWrite wire;
  wire.set_write_id(write.id);
  wire.set_node_uuid(node_uuid);
  *wire.mutable_instance() = WireInstance(write.instance);
  if (!write.sets_state) wire.mutable_instance()->clear_vm_state();
  if (write.migration) *wire.mutable_migration() = WireMigration(*write.migration);
  wire.set_withdraw(write.withdraw);
  if (write.ends_move) wire.set_end(WireEnd(write.migration->status));
  return wire;
}

}  // namespace berth::tracker
