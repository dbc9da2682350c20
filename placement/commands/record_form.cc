#include "placement/commands/record_form.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

// Adds a fault unless `text` has `min` to 255 characters, and one if it has control characters.
void TextField(Faults& faults, absl::string_view field, absl::string_view text, int64_t min) {
  faults.Length(field, text, min, kTextMax);
  faults.Line(field, text);
}

void AmountField(Faults& faults, absl::string_view field, int64_t amount) {
  if (amount >= 0 && amount <= kAmountMax) return;
  faults.Add(kInvalidField, std::string(field),
             absl::StrCat("must be 0 to ", kAmountMax, ", but is ", amount));
}

}  // namespace

void NodeNeedsHost(Faults& faults, absl::string_view field, bool has_node, absl::string_view host) {
  if (!has_node || !host.empty()) return;
  faults.Add(kInvalidField, std::string(field), "is only allowed if the host is given too");
}

void InstanceFields(Faults& faults, const InstanceRecord& instance) {
  TextField(faults, "instance.name", instance.name, 0);
  TextField(faults, "instance.project_id", instance.project, 1);
  TextField(faults, "instance.user_id", instance.user, 1);
  TextField(faults, "instance.host", instance.host, 0);
  NodeNeedsHost(faults, "instance.node_uuid", instance.node.has_value(), instance.host);
  TextField(faults, "instance.vm_state", instance.vm_state, 1);
  TextField(faults, "instance.task_state", instance.task_state, 0);
  AmountField(faults, "instance.flavor.vcpus", instance.flavor.vcpus);
  AmountField(faults, "instance.flavor.memory_mib", instance.flavor.memory_mib);
  AmountField(faults, "instance.flavor.root_disk_gib", instance.flavor.root_disk_gib);
  AmountField(faults, "instance.flavor.ephemeral_disk_gib", instance.flavor.ephemeral_disk_gib);
  AmountField(faults, "instance.flavor.swap_mib", instance.flavor.swap_mib);
  if (instance.details.size() > kRecordBytesMax) {
    faults.Add(kInvalidField, "instance",
               absl::StrCat("is too large: its flavor, image and other details must have at most ",
                            kRecordBytesMax, " bytes together"));
  }
}

void MigrationFields(Faults& faults, const MigrationRecord& migration) {
  const int type = static_cast<int>(migration.type);
  if (type < 1 || type > kMigrationTypeMax) {
    faults.Add(kInvalidField, "migration.type", "must be a migration type that this release knows");
  }
  TextField(faults, "migration.status", migration.status, 1);
  TextField(faults, "migration.source_host", migration.source_host, 1);
  TextField(faults, "migration.destination_host", migration.destination_host, 0);
  NodeNeedsHost(faults, "migration.destination_node_uuid", migration.destination_node.has_value(),
                migration.destination_host);
  TextField(faults, "migration.old_flavor_id", migration.old_flavor_id, 0);
  TextField(faults, "migration.new_flavor_id", migration.new_flavor_id, 0);
}

absl::Status InstanceNotFound(InstanceId id, const std::string& field) {
  return Refuse(absl::StatusCode::kNotFound, "INSTANCE_NOT_FOUND",
                absl::StrCat("there is no record of instance ", id.ToString()),
                {{{"instance", id.ToString()}, {"field", field}}});
}

absl::Status MigrationNotFound(MigrationId id) {
  return Refuse(absl::StatusCode::kNotFound, "MIGRATION_NOT_FOUND",
                absl::StrCat("there is no record of migration ", id.ToString()),
                {{{"migration", id.ToString()}, {"field", "migration_uuid"}}});
}

absl::Status DuplicateMigration(MigrationId id) {
  return Refuse(absl::StatusCode::kAlreadyExists, "DUPLICATE_MIGRATION",
                absl::StrCat("there is already a record of migration ", id.ToString()),
                {{{"migration", id.ToString()}, {"field", "migration.uuid"}}});
}

}  // namespace berth::placement
