#include "placement/commands/record_form.h"

#include <memory>
#include <string>
#include <utility>

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

void BodySize(Faults& faults, absl::string_view path, size_t bytes) {
  if (bytes <= kRecordBytesMax) return;
  faults.Add(kInvalidField, std::string(path),
             absl::StrCat("is too large: what it says beside its first fields must have at most ",
                          kRecordBytesMax, " bytes together"));
}

// RECORD_CONFLICT. `what`: "instance", "migration", "server_group" or "aggregate". None: no record.
absl::Status GenerationConflict(const std::string& what, const std::string& id,
                                std::optional<Generation> expected,
                                std::optional<Generation> actual) {
  const auto text = [](const std::optional<Generation>& generation) {
    return generation ? absl::StrCat(generation->value) : "none";
  };
  std::string message = absl::StrCat(what, " ", id, " has a record already");
  if (expected) {
    message = absl::StrCat(what, " ", id, " has changed: its record has generation ", text(actual),
                           ", not ", text(expected));
  }
  return Refuse(absl::StatusCode::kAborted, "RECORD_CONFLICT", message,
                {{{what, id}, {"expected", text(expected)}, {"actual", text(actual)}}});
}

// RECORD_CONFLICT unless `record` has the expected generation. None and null mean: no record.
template <typename Record>
absl::Status CompareGeneration(const std::string& what, const std::string& id,
                               std::optional<Generation> expected,
                               const std::shared_ptr<const Record>& record) {
  std::optional<Generation> actual;
  if (record != nullptr) actual = record->generation;
  if (expected == actual) return absl::OkStatus();
  return GenerationConflict(what, id, expected, actual);
}

// The `deleted_at` of an instance whose vm_state becomes `vm_state`; none if it is not deleted.
std::optional<absl::Time> DeletedAt(const InstancePtr& before, const std::string& vm_state,
                                    absl::Time now) {
  if (vm_state != kDeletedState) return std::nullopt;
  return before != nullptr && before->deleted_at ? before->deleted_at : now;
}

}  // namespace

void NodeNeedsHost(Faults& faults, absl::string_view field, bool has_node, absl::string_view host) {
  if (!has_node || !host.empty()) return;
  faults.Add(kInvalidField, std::string(field), "is only allowed if the host is given too");
}

void InstanceFields(Faults& faults, absl::string_view path, const InstanceRecord& instance) {
  const auto at = [path](absl::string_view field) { return absl::StrCat(path, ".", field); };
  TextField(faults, at("name"), instance.name, 0);
  TextField(faults, at("project_id"), instance.project, 1);
  TextField(faults, at("user_id"), instance.user, 1);
  TextField(faults, at("host"), instance.host, 0);
  NodeNeedsHost(faults, at("node_uuid"), instance.node.has_value(), instance.host);
  TextField(faults, at("vm_state"), instance.vm_state, 1);
  TextField(faults, at("task_state"), instance.task_state, 0);
  for (const auto& [field, amount] : kFlavorAmounts) {
    AmountField(faults, at(absl::StrCat("flavor.", field)), instance.flavor.*amount);
  }
  BodySize(faults, path, instance.body.size() + instance.flavor_id.size());
}

void MigrationFields(Faults& faults, const MigrationRecord& migration) {
  if (migration.id.uuid == migration.instance.uuid) {
    faults.Add(kInvalidField, "migration.uuid", "must not be the uuid of the instance");
  }
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
  BodySize(faults, "migration", migration.body.size());
}

void ReasonField(Faults& faults, absl::string_view reason) {
  TextField(faults, "reason", reason, 0);
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

absl::Status UuidOfMigration(InstanceId id, const std::string& field) {
  return Refuse(absl::StatusCode::kAlreadyExists, "UUID_IN_USE",
                absl::StrCat("a migration has the uuid ", id.ToString(),
                             " already: an instance needs another one"),
                {{{"migration", id.ToString()}, {"field", field}}});
}

absl::Status UuidOfInstance(MigrationId id, const std::string& field) {
  return Refuse(absl::StatusCode::kAlreadyExists, "UUID_IN_USE",
                absl::StrCat("an instance has the uuid ", id.ToString(),
                             " already: a migration needs another one"),
                {{{"instance", id.ToString()}, {"field", field}}});
}

absl::Status CheckGeneration(InstanceId id, std::optional<Generation> expected,
                             const InstancePtr& record) {
  return CompareGeneration("instance", id.ToString(), expected, record);
}

absl::Status CheckGeneration(Generation expected, const MigrationRecord& record) {
  if (expected == record.generation) return absl::OkStatus();
  return GenerationConflict("migration", record.id.ToString(), expected, record.generation);
}

absl::Status CheckGeneration(ServerGroupId id, std::optional<Generation> expected,
                             const ServerGroupPtr& group) {
  return CompareGeneration("server_group", id.ToString(), expected, group);
}

absl::Status CheckGeneration(AggregateId id, std::optional<Generation> expected,
                             const AggregatePtr& aggregate) {
  return CompareGeneration("aggregate", id.ToString(), expected, aggregate);
}

InstancePtr StoredInstance(const InstanceRecord& record, const InstancePtr& before,
                           const RuleContext& context) {
  auto stored = std::make_shared<InstanceRecord>(record);
  stored->generation = before != nullptr ? before->generation.Next() : context.fresh;
  stored->created_at = before != nullptr ? before->created_at : context.now;
  stored->updated_at = context.now;
  stored->deleted_at = DeletedAt(before, stored->vm_state, context.now);
  return stored;
}

MigrationPtr StoredMigration(MigrationRecord record, const RuleContext& context) {
  record.generation = record.generation.Next();
  record.updated_at = context.now;
  return std::make_shared<const MigrationRecord>(std::move(record));
}

}  // namespace berth::placement
