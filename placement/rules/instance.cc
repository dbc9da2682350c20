#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/commands/record_form.h"
#include "placement/rules/rules.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

std::string Text(const std::optional<Generation>& generation) {
  return generation ? absl::StrCat(generation->value) : "none";
}

// ABORTED / RECORD_CONFLICT unless the record has the expected generation.
absl::Status CheckGeneration(InstanceId id, std::optional<Generation> expected,
                             std::optional<Generation> actual) {
  if (expected == actual) return absl::OkStatus();
  return Refuse(
      absl::StatusCode::kAborted, "RECORD_CONFLICT",
      absl::StrCat("instance ", id.ToString(), " has changed: its record has generation ",
                   Text(actual), ", not ", Text(expected)),
      {{{"instance", id.ToString()}, {"expected", Text(expected)}, {"actual", Text(actual)}}});
}

// The `deleted_at` of an instance whose vm_state becomes `vm_state`; none if it is not deleted.
std::optional<absl::Time> DeletedAt(const InstancePtr& before, const std::string& vm_state,
                                    absl::Time now) {
  if (vm_state != kDeletedState) return std::nullopt;
  return before != nullptr && before->deleted_at ? before->deleted_at : now;
}

}  // namespace

// Refuses, in this order: a malformed command; RECORD_CONFLICT. A caller that gives no generation
// expects that there is no record.
absl::StatusOr<Outcome> Decide(const State& state, const SetInstance& command,
                               const RuleContext& context) {
  Faults faults;
  InstanceFields(faults, command.record);
  BERTH_RETURN_IF_ERROR(faults.status());
  const InstancePtr before = state.records().FindInstance(command.record.id);
  const std::optional<Generation> actual =
      before != nullptr ? std::optional(before->generation) : std::nullopt;
  BERTH_RETURN_IF_ERROR(CheckGeneration(command.record.id, command.expected_generation, actual));
  auto record = std::make_shared<InstanceRecord>(command.record);
  record->generation = actual ? actual->Next() : context.fresh;
  record->created_at = before != nullptr ? before->created_at : context.now;
  record->updated_at = context.now;
  record->deleted_at = DeletedAt(before, record->vm_state, context.now);
  Outcome outcome;
  outcome.result.created = before == nullptr;
  outcome.changes.push_back(InstancePut{std::move(record)});
  return outcome;
}

// Refuses, in this order: INSTANCE_NOT_FOUND; RECORD_CONFLICT. Removes the instance's migrations,
// too, because the instance of a migration always has a record.
absl::StatusOr<Outcome> Decide(const State& state, const DeleteInstance& command,
                               const RuleContext&) {
  const InstancePtr before = state.records().FindInstance(command.instance);
  if (before == nullptr) return InstanceNotFound(command.instance, "instance_uuid");
  if (command.expected_generation) {
    BERTH_RETURN_IF_ERROR(
        CheckGeneration(command.instance, command.expected_generation, before->generation));
  }
  Outcome outcome;
  for (const MigrationPtr& migration : state.records().MigrationsOf(command.instance)) {
    outcome.changes.push_back(MigrationRemoved{migration->id});
  }
  outcome.changes.push_back(InstanceRemoved{command.instance});
  return outcome;
}

}  // namespace berth::placement
