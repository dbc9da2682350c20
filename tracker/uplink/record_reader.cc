// The functions of record_messages.h that read records.
#include <google/protobuf/message.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tracker/ground/message_text.h"
#include "tracker/ground/uuid.h"
#include "tracker/uplink/record_form.h"
#include "tracker/uplink/record_messages.h"
#include "tracker/uplink/record_words.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;

constexpr size_t kQuotedMax = 64;  // bytes of a word that cannot be read
constexpr int kAssignedMax = 256;  // devices, and units, that one record gives to a guest at a time

// Whether the message, or a message in it, has a field that this release does not know. The maps of
// records have plain values, so they are not looked at.
bool HasUnknownFields(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (!reflection.GetUnknownFields(message).empty()) return true;
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* const field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (field->is_map()) continue;
    if (!field->is_repeated()) {
      if (HasUnknownFields(reflection.GetMessage(message, field))) return true;
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      if (HasUnknownFields(reflection.GetRepeatedMessage(message, field, i))) return true;
    }
  }
  return false;
}

template <typename List>
bool AnyHasUnknownFields(const List& list) {
  return std::any_of(list.begin(), list.end(), HasUnknownFields);
}

// Reads the parts of one record, and notes which part could not be read.
//
// Each part takes memory in proportion to its message, except the devices of requests, which are
// bounded here.
class RecordReader {
 public:
  // Reads the uuid in `field`. Nil if it cannot be read, or is nil, which names nothing.
  Uuid ReadUuid(const std::string& text, const char* field) {
    const std::optional<Uuid> uuid = ParseName(text);
    if (!uuid) Note(absl::StrCat(field, " is not a uuid"));
    return uuid.value_or(Uuid());
  }
  // Likewise. An empty text is nil.
  Uuid ReadUuidIfAny(const std::string& text, const char* field) {
    return text.empty() ? Uuid() : ReadUuid(text, field);
  }

  // Reads one of `words`. An empty text is an absent value.
  template <typename Value, size_t kCount>
  std::optional<Value> ReadWord(const Word<Value> (&words)[kCount], const std::string& text,
                                const char* what) {
    if (text.empty()) return std::nullopt;
    for (const Word<Value>& word : words) {
      if (text == word.text) return word.value;
    }
    NoteWord(what, text);
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
    cell.memory_mib = ReadAmount(wire.memory_mib(), "MiB of memory in a cell");
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
      for (const v1::GuestCell& cell : cells) {
        if (topology.cells.size() < kGuestCellsMax) topology.cells.push_back(ReadCell(cell));
      }
      if (cells.size() > kGuestCellsMax) Note(absl::StrCat("it has ", cells.size(), " NUMA cells"));
    }
    assigned.devices = ReadOnce<std::string>(devices, "PCI devices",
                                             [](const auto& wire) { return wire.address(); });
    std::set<absl::string_view> known;
    for (const std::string& address : assigned.devices) known.insert(address);
    for (const v1::PciDevice& device : devices) {
      if (device.request_id().empty() || !known.contains(device.address())) continue;
      assigned.request_ids.emplace(device.address(), device.request_id());
    }
    assigned.units = ReadOnce<NamedUnit>(units, "named units", [this](const auto& wire) {
      return NamedUnit{ReadUuid(wire.provider_uuid(), "provider_uuid"), wire.resource_class(),
                       wire.name()};
    });
    return assigned;
  }

  // Reads a list with `read`, each value once. Leaves out what comes after kAssignedMax elements.
  template <typename Value, typename List, typename Read>
  std::vector<Value> ReadOnce(const List& list, const char* what, Read read) {
    std::vector<Value> values;
    std::set<Value> known;
    const int count = std::min<int>(list.size(), kAssignedMax);
    for (int i = 0; i < count; ++i) {
      const auto [value, is_new] = known.insert(read(list[i]));
      if (is_new) values.push_back(*value);
    }
    if (list.size() > kAssignedMax) Note(absl::StrCat("it has ", list.size(), " ", what));
    return values;
  }

  template <typename Requests>
  std::vector<DeviceRequest> ReadRequests(const Requests& wire) {
    std::vector<DeviceRequest> requests;
    if (wire.size() > kDeviceRequestsMax) {
      Note(absl::StrCat("it has ", wire.size(), " PCI requests"));
      return requests;
    }
    for (const v1::PciRequest& item : wire) {
      if (!IsCountOfDevices(item)) continue;
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
      if (!policy.ok() && !item.numa_policy().empty()) {
        NoteWord("numa_policy", item.numa_policy());
      }
      if (!item.provider_uuids().empty()) request.providers = ReadShares(item);
    }
    return requests;
  }

  MigrationContext ReadContext(const v1::MigrationContext& wire) {
    MigrationContext context;
    context.migration_uuid = ReadUuidIfAny(wire.migration_uuid(), "migration_uuid");
    if (wire.has_old_flavor()) context.old_flavor = Read(wire.old_flavor());
    if (wire.has_new_flavor()) context.new_flavor = Read(wire.new_flavor());
    context.old_assigned = ReadAssigned(wire.old_numa_cells(), wire.old_emulator_threads_policy(),
                                        wire.old_pci_devices(), wire.old_named_units());
    context.new_assigned = ReadAssigned(wire.new_numa_cells(), wire.new_emulator_threads_policy(),
                                        wire.new_pci_devices(), wire.new_named_units());
    context.old_device_requests = ReadRequests(wire.old_pci_requests());
    context.new_device_requests = ReadRequests(wire.new_pci_requests());
    return context;
  }

  Flavor Read(const v1::Flavor& wire) {
    Flavor flavor = ReadFlavor(wire);
    for (const auto& [field, amount] : kFlavorAmounts) {
      flavor.*amount = ReadAmount(flavor.*amount, field);
    }
    return flavor;
  }

  // Empty: everything was read.
  const std::string& unreadable() const { return unreadable_; }

 private:
  void Note(std::string text) {
    if (unreadable_.empty()) unreadable_ = std::move(text);
  }
  void NoteWord(const char* what, absl::string_view word) {
    Note(absl::StrCat("it has the ", what, " `", CutText(word, kQuotedMax), "`"));
  }
  int64_t ReadAmount(int64_t amount, const char* what) {
    if (amount >= 0 && amount <= kRecordAmountMax) return amount;
    Note(absl::StrCat("it has ", amount, " ", what));
    return 0;
  }
  bool IsCountOfDevices(const v1::PciRequest& wire) {
    const bool good = wire.count() >= 1 && wire.count() <= kRequestedDevicesMax &&
                      wire.provider_uuids_size() <= wire.count();
    if (!good) {
      Note(absl::StrCat("a PCI request asks for ", wire.count(), " devices of ",
                        wire.provider_uuids_size(), " providers"));
    }
    return good;
  }
  bool IsCpu(int cpu) {
    if (cpu >= 0 && cpu <= CpuSet::kMaxCpu) return true;
    Note(absl::StrCat("it names CPU ", cpu));
    return false;
  }
  // A request names a provider once for each device. If it names fewer, the first has the rest.
  std::map<Uuid, int64_t> ReadShares(const v1::PciRequest& wire) {
    std::map<Uuid, int64_t> shares;
    for (const std::string& uuid : wire.provider_uuids())
      ++shares[ReadUuid(uuid, "provider_uuids")];
    const int64_t missing = wire.count() - wire.provider_uuids_size();
    if (missing > 0) shares[UuidOrNil(wire.provider_uuids(0))] += missing;
    return shares;
  }

  std::string unreadable_;
};

// A time that is too far away for absl::Time becomes one of the infinite ones.
absl::Time ReadTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

}  // namespace

Instance ReadInstance(const v1::Instance& wire) {
  RecordReader reader;
  Instance instance;
  instance.uuid = reader.ReadUuid(wire.uuid(), "uuid");
  instance.generation = wire.generation();
  instance.on = {wire.host(), reader.ReadUuidIfAny(wire.node_uuid(), "node_uuid")};
  instance.claimed_generation = wire.claimed_generation();
  instance.launched_on = wire.launched_on();
  instance.project_id = wire.project_id();
  instance.vm_state = wire.vm_state();
  instance.task_state = wire.task_state();
  instance.flavor = reader.Read(wire.flavor());
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
  instance.has_unknown_fields = AnyHasUnknownFields(wire.numa_cells()) ||
                                AnyHasUnknownFields(wire.named_units()) ||
                                HasUnknownFields(wire.migration_context());
  return instance;
}

Migration ReadMigration(const v1::Migration& wire) {
  RecordReader reader;
  Migration migration;
  migration.uuid = reader.ReadUuid(wire.uuid(), "uuid");
  migration.generation = wire.generation();
  migration.instance_uuid = reader.ReadUuid(wire.instance_uuid(), "instance_uuid");
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
  migration.source = {wire.source_host(),
                      reader.ReadUuidIfAny(wire.source_node_uuid(), "source_node_uuid")};
  migration.destination = {
      wire.destination_host(),
      reader.ReadUuidIfAny(wire.destination_node_uuid(), "destination_node_uuid")};
  migration.old_flavor_id = wire.old_flavor_id();
  migration.new_flavor_id = wire.new_flavor_id();
  migration.created_at = ReadTime(wire.created_at());
  if (wire.has_updated_at()) migration.updated_at = ReadTime(wire.updated_at());
  migration.unreadable = reader.unreadable();
  return migration;
}

}  // namespace berth::tracker
