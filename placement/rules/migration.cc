#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/commands/record_form.h"
#include "placement/rules/fence.h"
#include "placement/rules/owners.h"
#include "placement/rules/rules.h"
#include "placement/rules/settlement.h"
#include "placement/values/migration_status.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

Outcome PutMigration(MigrationPtr record) {
  Outcome outcome;
  outcome.changes.push_back(MigrationPut{std::move(record)});
  return outcome;
}

// Refuses a new migration whose uuid is taken: DUPLICATE_MIGRATION; UUID_IN_USE. An identified
// tracker gets POLICY_DENIED for both, and also if a consumer has the uuid: it chooses the uuid, and
// the end of the move would give away what this consumer holds. A scheduler may make the consumer
// before the migration (T-221).
absl::Status CheckNewId(const State& state, const CreateMigration& command) {
  const MigrationId id = command.record.id;
  const bool is_migration = state.records().FindMigration(id) != nullptr;
  const bool is_instance = state.records().FindInstance(InstanceId{id.uuid}) != nullptr;
  if (command.tracker && command.tracker->identified) {
    const bool is_taken =
        is_migration || is_instance || state.FindConsumer(ConsumerId{id.uuid}) != nullptr;
    if (!is_taken) return absl::OkStatus();
    return DenyRecord(*command.tracker, "migration", id.ToString(), "its uuid is in use");
  }
  if (is_migration) return DuplicateMigration(id);
  return is_instance ? UuidOfInstance(id, "migration.uuid") : absl::OkStatus();
}

// Checks the form of the command. Faults name the fields as UpdateMigrationRequest does.
absl::Status CheckForm(const UpdateMigration& command) {
  Faults faults;
  faults.Length("expected_status", command.expected_status, 1, kTextMax);
  faults.Length("status", command.status, 0, kTextMax);
  faults.Line("status", command.status);
  if (command.destination_host) {
    faults.Length("destination_host", *command.destination_host, 0, kTextMax);
    faults.Line("destination_host", *command.destination_host);
  }
  TrackerFields(faults, command.tracker);
  ReasonField(faults, command.reason);
  return faults.status();
}

absl::Status StatusConflict(const MigrationRecord& record, const std::string& expected) {
  return Refuse(
      absl::StatusCode::kAborted, "RECORD_CONFLICT",
      absl::StrCat("migration ", record.id.ToString(), " has changed: its status is ",
                   record.status, ", not ", expected),
      {{{"migration", record.id.ToString()}, {"expected", expected}, {"actual", record.status}}});
}

// The record after the command.
MigrationRecord Updated(const MigrationRecord& before, const UpdateMigration& command) {
  MigrationRecord record = before;
  if (!command.status.empty()) record.status = command.status;
  if (command.destination_host) record.destination_host = *command.destination_host;
  if (command.destination_node) record.destination_node = *command.destination_node;
  return record;
}

// What CheckOwners refuses for the migration: the instance's record may say already what the move
// gives to the instance.
template <typename Command>
absl::Status CheckOwnersOf(const State& state, const Command& command, const MigrationPtr& after) {
  const InstancePtr instance = state.records().FindInstance(after->instance);
  return CheckOwners(state, {command.tracker, std::nullopt, instance, *instance, after});
}

}  // namespace

// Refuses, in this order: a malformed command; SERVICE_NOT_REGISTERED; TRACKER_FENCED; what
// CheckConcern refuses for the instance; INSTANCE_NOT_FOUND; what CheckNewId refuses; POLICY_DENIED;
// what CheckOwners refuses. To an identified tracker, POLICY_DENIED for the rest comes before
// CheckNewId: what is denied anyway must not tell it which uuids are in use. An instance may have
// several migrations in progress: T-129 says which of them counts.
absl::StatusOr<Outcome> Decide(const State& state, const CreateMigration& command,
                               const RuleContext& context) {
  MigrationRecord record = command.record;
  if (record.status.empty()) record.status = std::string(kAcceptedStatus);  // T-125
  Faults faults;
  MigrationFields(faults, record);
  if (FindMoveEnding(record.status) != nullptr) {
    faults.Add(kInvalidField, "migration.status", "must not be that of a move that has ended");
  }
  TrackerFields(faults, command.tracker);
  ReasonField(faults, command.reason);
  BERTH_RETURN_IF_ERROR(faults.status());
  BERTH_RETURN_IF_ERROR(CheckProcess(state, command.tracker));
  BERTH_RETURN_IF_ERROR(CheckConcern(state, command.tracker, record.instance));
  const InstancePtr instance = state.records().FindInstance(record.instance);
  if (instance == nullptr) return InstanceNotFound(record.instance, "migration.instance_uuid");
  const absl::Status new_id = CheckNewId(state, command);
  if (!absl::IsPermissionDenied(new_id)) BERTH_RETURN_IF_ERROR(new_id);
  BERTH_RETURN_IF_ERROR(CheckMigrationWrite(state, command.tracker, nullptr, record));
  BERTH_RETURN_IF_ERROR(new_id);
  // The node stays the source even if it gets another host (T-22).
  if (!record.source_node && record.source_host == instance->host) {
    record.source_node = instance->node;
  }
  record.generation = context.fresh;
  record.created_at = record.updated_at = context.now;
  auto after = std::make_shared<const MigrationRecord>(std::move(record));
  BERTH_RETURN_IF_ERROR(CheckOwnersOf(state, command, after));
  return PutMigration(std::move(after));
}

// Refuses, in this order: a malformed command; SERVICE_NOT_REGISTERED; TRACKER_FENCED; what
// CheckConcern refuses; MIGRATION_NOT_FOUND; RECORD_CONFLICT; POLICY_DENIED; a destination node
// without a host; what CheckStatusChange refuses; what CheckOwners refuses. While a move is not
// over, any status may follow any other: the callers keep the order of T-126.
absl::StatusOr<Outcome> Decide(const State& state, const UpdateMigration& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  BERTH_RETURN_IF_ERROR(CheckProcess(state, command.tracker));
  BERTH_RETURN_IF_ERROR(CheckConcern(state, command.tracker, command.migration));
  const MigrationPtr before = state.records().FindMigration(command.migration);
  if (before == nullptr) return MigrationNotFound(command.migration);
  MigrationRecord after = Updated(*before, command);
  if (before->status != command.expected_status) {
    return StatusConflict(*before, command.expected_status);
  }
  BERTH_RETURN_IF_ERROR(CheckMigrationWrite(state, command.tracker, before, after));
  Faults faults;
  NodeNeedsHost(faults, "destination_node_uuid", after.destination_node.has_value(),
                after.destination_host);
  BERTH_RETURN_IF_ERROR(faults.status());
  BERTH_RETURN_IF_ERROR(CheckStatusChange(state, *before, after));
  MigrationPtr stored = StoredMigration(std::move(after), context);
  BERTH_RETURN_IF_ERROR(CheckOwnersOf(state, command, stored));
  return PutMigration(std::move(stored));
}

}  // namespace berth::placement
