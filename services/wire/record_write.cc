#include "services/wire/record_write.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "berth/placement/v1/record.pb.h"
#include "placement/values/faults.h"
#include "services/wire/instance.h"

namespace berth::services {

using placement::InstanceId;
using placement::InstanceRecord;
using placement::MigrationId;
using placement::MigrationPtr;
using placement::ProviderId;

namespace {

using OwnedNames = std::set<std::string>;

// Adds the names of the host CPUs, devices and units.
template <typename Cells, typename Devices, typename Units>
void AddNames(const Cells& cells, const Devices& devices, const Units& units, OwnedNames* names) {
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

using Devices = google::protobuf::RepeatedPtrField<pb::PciDevice>;

// A tracker names devices by their addresses. Copies all else that `known` says of them.
void Describe(const Devices& known, Devices* devices) {
  for (pb::PciDevice& device : *devices) {
    for (const pb::PciDevice& other : known) {
      if (other.address() == device.address()) device = other;
    }
  }
}

// Sets those fields of the record that a tracker decides about.
class TrackerEdit final : public placement::InstanceEdit {
 public:
  TrackerEdit(pb::Instance written, pb::MoveEnd end) : written_(std::move(written)), end_(end) {}

  absl::StatusOr<InstanceRecord> Apply(const InstanceRecord& before) const override {
    pb::Instance record;
    FillInstance(before, &record);
    record.set_host(written_.host());
    record.set_node_uuid(written_.node_uuid());
    record.set_claimed_generation(written_.claimed_generation());
    if (!written_.vm_state().empty()) {
      record.set_vm_state(written_.vm_state());
      record.set_task_state(written_.task_state());
    }
    *record.mutable_numa_cells() = written_.numa_cells();
    // A guest without cells has no use for the policy. It may be a wish that a later move needs.
    if (written_.numa_cells_size() > 0) {
      record.set_emulator_threads_policy(written_.emulator_threads_policy());
    }
    Devices known = record.pci_devices();
    if (end_ == pb::MOVE_END_REVERTED && record.has_migration_context()) {
      const pb::MigrationContext& context = record.migration_context();
      if (context.has_old_flavor()) *record.mutable_flavor() = context.old_flavor();
      *record.mutable_pci_requests() = context.old_pci_requests();
      known.MergeFrom(context.old_pci_devices());
    }
    *record.mutable_pci_devices() = written_.pci_devices();
    Describe(known, record.mutable_pci_devices());
    *record.mutable_named_units() = written_.named_units();
    record.clear_migration_context();
    if (written_.has_migration_context()) {
      *record.mutable_migration_context() = written_.migration_context();
      Describe(known, record.mutable_migration_context()->mutable_old_pci_devices());
    }
    return InstanceOf("instance", record);
  }

  OwnedNames Held(const InstanceRecord& record, const std::vector<MigrationPtr>& migrations,
                  const std::string& host, ProviderId node) const override {
    pb::Instance details;
    details.ParseFromString(record.details);
    const auto is_here = [&](const std::string& its_host, const std::optional<ProviderId>& its) {
      return its_host == host && (!its || *its == node);
    };
    OwnedNames names;
    if (is_here(record.host, record.node)) {
      AddNames(details.numa_cells(), details.pci_devices(), details.named_units(), &names);
    }
    if (!details.has_migration_context()) return names;
    const pb::MigrationContext& context = details.migration_context();
    for (const MigrationPtr& migration : migrations) {
      if (migration->id.ToString() != context.migration_uuid()) continue;
      if (is_here(migration->source_host, migration->source_node)) {
        AddNames(context.old_numa_cells(), context.old_pci_devices(), context.old_named_units(),
                 &names);
      }
      if (is_here(migration->destination_host, migration->destination_node)) {
        AddNames(context.new_numa_cells(), context.new_pci_devices(), context.new_named_units(),
                 &names);
      }
    }
    return names;
  }

 private:
  const pb::Instance written_;
  const pb::MoveEnd end_;
};

absl::StatusOr<std::optional<ProviderId>> ReadNode(absl::string_view field,
                                                   const std::string& text) {
  if (text.empty()) return std::optional<ProviderId>();
  BERTH_ASSIGN_OR_RETURN(const auto node, ParseId<ProviderId>(field, text));
  return std::optional<ProviderId>(node);
}

}  // namespace

absl::StatusOr<placement::WriteRecords> WriteRecordsOf(const pb::RecordWrite& from,
                                                       placement::TrackerProcess tracker) {
  placement::WriteRecords command;
  command.tracker = std::move(tracker);
  BERTH_ASSIGN_OR_RETURN(command.node,
                         ParseId<ProviderId>("record_write.node_uuid", from.node_uuid()));
  BERTH_ASSIGN_OR_RETURN(command.instance,
                         ParseId<InstanceId>("record_write.instance.uuid", from.instance().uuid()));
  command.expected_generation = placement::Generation{from.instance().generation()};
  BERTH_RETURN_IF_ERROR(
      ReadNode("record_write.instance.node_uuid", from.instance().node_uuid()).status());
  if (from.instance().ByteSizeLong() > 2 * placement::kRecordBytesMax) {
    return InvalidField("record_write.instance", "is larger than any record");
  }
  if (!from.withdraw()) command.edit = std::make_shared<TrackerEdit>(from.instance(), from.end());
  if (!from.has_migration()) return command;
  const pb::Migration& migration = from.migration();
  placement::MigrationEdit& edit = command.migration.emplace();
  BERTH_ASSIGN_OR_RETURN(edit.migration,
                         ParseId<MigrationId>("record_write.migration.uuid", migration.uuid()));
  edit.expected_generation = placement::Generation{migration.generation()};
  if (from.end() != pb::MOVE_END_UNSPECIFIED) {
    edit.end = static_cast<placement::MoveEnd>(from.end());
  }
  edit.status = migration.status();
  edit.destination_host = migration.destination_host();
  BERTH_ASSIGN_OR_RETURN(
      edit.destination_node,
      ReadNode("record_write.migration.destination_node_uuid", migration.destination_node_uuid()));
  return command;
}

}  // namespace berth::services
