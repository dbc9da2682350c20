#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/claims/plan.h"
#include "placement/commands/record_form.h"
#include "placement/rules/fence.h"
#include "placement/rules/owners.h"
#include "placement/rules/rules.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

absl::Status HoldsAllocations(const MigrationRecord& migration) {
  return Refuse(absl::StatusCode::kFailedPrecondition, "MOVE_HOLDS_ALLOCATIONS",
                absl::StrCat("the consumer of migration ", migration.id.ToString(),
                             " holds allocations: end the move before the instance is deleted"),
                {{{"migration", migration.id.ToString()}, {"field", "instance_uuid"}}});
}

// The consumer of a deleted instance: it holds what it held before, and its type says that no
// record needs this (T-346).
ConsumerPtr LeftBehind(const State& state, const Consumer& before, const RuleContext& context) {
  auto consumer = std::make_shared<Consumer>(before);
  consumer->generation = consumer->generation.Next();
  consumer->updated_at = context.now;
  Owner owner = *before.owner;
  owner.type = std::string(kDeletedInstanceType);
  consumer->owner = state.ShareOwner(std::move(owner));
  return consumer;
}

// What DeleteInstance does to the allocations of the instance and of its migrations.
absl::StatusOr<Outcome> SettleAllocations(const State& state, const DeleteInstance& command,
                                          const std::vector<MigrationPtr>& migrations,
                                          const RuleContext& context) {
  std::vector<Holder> released;
  for (const MigrationPtr& migration : migrations) {
    const ConsumerPtr held = state.FindConsumer(ConsumerId{migration->id.uuid});
    if (held == nullptr) continue;
    if (!command.release) return HoldsAllocations(*migration);
    released.push_back({held->id, held, nullptr});
  }
  Outcome outcome;
  const ConsumerPtr own = state.FindConsumer(ConsumerId{command.instance.uuid});
  if (own != nullptr && !command.release) {
    outcome.changes.push_back(ConsumerPut{LeftBehind(state, *own, context)});
  } else if (own != nullptr) {
    released.push_back({own->id, own, nullptr});
  }
  if (released.empty()) return outcome;
  ClaimPlan plan(state, std::move(released));
  BERTH_RETURN_IF_ERROR(plan.FindProviders());
  return plan.MakeOutcome(context);
}

}  // namespace

// Refuses, in this order: a malformed command; SERVICE_NOT_REGISTERED; TRACKER_FENCED; what
// CheckConcern refuses; RECORD_CONFLICT; UUID_IN_USE; POLICY_DENIED; what CheckOwners refuses. A
// caller that gives no generation expects that there is no record.
absl::StatusOr<Outcome> Decide(const State& state, const SetInstance& command,
                               const RuleContext& context) {
  Faults faults;
  InstanceFields(faults, "instance", command.record);
  TrackerFields(faults, command.tracker);
  ReasonField(faults, command.reason);
  BERTH_RETURN_IF_ERROR(faults.status());
  BERTH_RETURN_IF_ERROR(CheckProcess(state, command.tracker));
  BERTH_RETURN_IF_ERROR(CheckConcern(state, command.tracker, command.record.id));
  const InstancePtr before = state.records().FindInstance(command.record.id);
  BERTH_RETURN_IF_ERROR(CheckGeneration(command.record.id, command.expected_generation, before));
  if (state.records().FindMigration(MigrationId{command.record.id.uuid}) != nullptr) {
    return UuidOfMigration(command.record.id, "instance.uuid");
  }
  BERTH_RETURN_IF_ERROR(CheckInstanceWrite(state, command.tracker, before, command.record));
  BERTH_RETURN_IF_ERROR(
      CheckOwners(state, {command.tracker, std::nullopt, before, command.record}));
  Outcome outcome;
  outcome.result.created = before == nullptr;
  outcome.changes.push_back(InstancePut{StoredInstance(command.record, before, context)});
  return outcome;
}

// Refuses, in this order: a malformed command; INSTANCE_NOT_FOUND; RECORD_CONFLICT; and, unless the
// command releases all, MOVE_HOLDS_ALLOCATIONS if the consumer of a migration holds something: only
// the end of the move knows what of it the instance keeps. Removes the instance's migrations, too,
// because the instance of a migration always has a record.
absl::StatusOr<Outcome> Decide(const State& state, const DeleteInstance& command,
                               const RuleContext& context) {
  Faults faults;
  ReasonField(faults, command.reason);
  BERTH_RETURN_IF_ERROR(faults.status());
  const InstancePtr before = state.records().FindInstance(command.instance);
  if (before == nullptr) return InstanceNotFound(command.instance, "instance_uuid");
  if (command.expected_generation) {
    BERTH_RETURN_IF_ERROR(CheckGeneration(command.instance, command.expected_generation, before));
  }
  const std::vector<MigrationPtr> migrations = state.records().MigrationsOf(command.instance);
  BERTH_ASSIGN_OR_RETURN(Outcome outcome, SettleAllocations(state, command, migrations, context));
  for (const MigrationPtr& migration : migrations) {
    outcome.changes.push_back(MigrationRemoved{migration->id});
  }
  outcome.changes.push_back(InstanceRemoved{command.instance});
  return outcome;
}

}  // namespace berth::placement
