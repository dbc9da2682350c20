#include "services/wire/record_write.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/placement/v1/record.pb.h"
#include "placement/values/faults.h"
#include "services/wire/instance.h"

namespace berth::services {

using placement::InstanceId;
using placement::InstanceRecord;
using placement::MigrationId;
using placement::ProviderId;

namespace {

using Devices = google::protobuf::RepeatedPtrField<pb::PciDevice>;

// A tracker names devices by their addresses, and says for which request each one is. Copies all
// else that `known` says of them. What is known of a device is copied once, however often a peer
// names it.
void Describe(const Devices& known, Devices* devices) {
  absl::flat_hash_map<absl::string_view, const pb::PciDevice*> by_address;
  for (const pb::PciDevice& device : known) by_address[device.address()] = &device;
  for (pb::PciDevice& device : *devices) {
    const auto found = by_address.find(device.address());
    if (found == by_address.end()) continue;
    std::string request_id = std::move(*device.mutable_request_id());
    device = *found->second;
    device.set_request_id(std::move(request_id));
    by_address.erase(found);
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
    if (!written_.launched_on().empty()) record.set_launched_on(written_.launched_on());
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
    return InstanceOf("record_write.instance", record);
  }

 private:
  const pb::Instance written_;
  const pb::MoveEnd end_;
};

absl::StatusOr<std::optional<ProviderId>> NodeIn(absl::string_view field, const std::string& text) {
  if (text.empty()) return std::optional<ProviderId>();
  BERTH_ASSIGN_OR_RETURN(const auto node, ParseId<ProviderId>(field, text));
  return std::optional<ProviderId>(node);
}

// The path of the first field of `message` that is set and is none of `allowed`; nothing if there
// is no such field. A field that this release does not know counts as set.
std::optional<std::string> OtherField(const std::string& path,
                                      const google::protobuf::Message& message,
                                      std::initializer_list<int> allowed) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (std::find(allowed.begin(), allowed.end(), field->number()) != allowed.end()) continue;
    return absl::StrCat(path, ".", field->name());
  }
  if (reflection.GetUnknownFields(message).empty()) return std::nullopt;
  return path;
}

// INVALID_FIELD if a withdrawal says more than which records it concerns, and their generations.
absl::Status CheckWithdrawal(const pb::RecordWrite& from) {
  using Write = pb::RecordWrite;
  std::optional<std::string> other = OtherField(
      "record_write", from,
      {Write::kWriteIdFieldNumber, Write::kNodeUuidFieldNumber, Write::kInstanceFieldNumber,
       Write::kMigrationFieldNumber, Write::kWithdrawFieldNumber});
  if (!other) {
    other = OtherField("record_write.instance", from.instance(),
                       {pb::Instance::kUuidFieldNumber, pb::Instance::kGenerationFieldNumber});
  }
  if (!other) {
    other = OtherField("record_write.migration", from.migration(),
                       {pb::Migration::kUuidFieldNumber, pb::Migration::kGenerationFieldNumber});
  }
  if (!other) return absl::OkStatus();
  return InvalidField(*other, "must not be set in a withdrawal");
}

// INVALID_FIELD if a message in the write has more bytes than any record.
absl::Status CheckSizes(const pb::RecordWrite& from) {
  const auto is_larger = [](const google::protobuf::Message& message) {
    return message.ByteSizeLong() > 2 * placement::kRecordBytesMax;
  };
  if (is_larger(from.instance())) {
    return InvalidField("record_write.instance", "is larger than any record");
  }
  if (!is_larger(from.migration())) return absl::OkStatus();
  return InvalidField("record_write.migration", "is larger than any record");
}

absl::StatusOr<placement::MigrationEdit> MigrationEditOf(const pb::RecordWrite& from) {
  const pb::Migration& migration = from.migration();
  placement::MigrationEdit edit;
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
      NodeIn("record_write.migration.destination_node_uuid", migration.destination_node_uuid()));
  return edit;
}

}  // namespace

absl::StatusOr<placement::WriteRecords> WriteRecordsOf(const pb::RecordWrite& from,
                                                       placement::TrackerProcess tracker) {
  BERTH_RETURN_IF_ERROR(CheckSizes(from));
  placement::WriteRecords command;
  command.tracker = std::move(tracker);
  BERTH_ASSIGN_OR_RETURN(command.node,
                         ParseId<ProviderId>("record_write.node_uuid", from.node_uuid()));
  BERTH_ASSIGN_OR_RETURN(command.instance,
                         ParseId<InstanceId>("record_write.instance.uuid", from.instance().uuid()));
  command.expected_generation = placement::Generation{from.instance().generation()};
  if (from.has_migration()) {
    BERTH_ASSIGN_OR_RETURN(command.migration, MigrationEditOf(from));
  } else if (from.end() != pb::MOVE_END_UNSPECIFIED) {
    return InvalidField("record_write.end", "needs a migration");
  }
  if (from.withdraw()) {
    BERTH_RETURN_IF_ERROR(CheckWithdrawal(from));
    return command;
  }
  pb::Instance instance = from.instance();
  BERTH_RETURN_IF_ERROR(MakeUuidsCanonical("record_write.instance", &instance));
  BERTH_RETURN_IF_ERROR(CheckNumbers("record_write.instance", instance));
  command.edit = std::make_shared<TrackerEdit>(std::move(instance), from.end());
  command.read_held = ReadHeld;
  return command;
}

}  // namespace berth::services
