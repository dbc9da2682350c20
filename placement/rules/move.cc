#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/claims/owner_write.h"
#include "placement/claims/plan.h"
#include "placement/commands/record_form.h"
#include "placement/ground/check.h"
#include "placement/rules/fence.h"
#include "placement/rules/owners.h"
#include "placement/rules/rules.h"
#include "placement/rules/settlement.h"
#include "placement/state/lookup.h"

namespace berth::placement {
namespace {

absl::Status CheckForm(const EndMove& command) {
  Faults faults;
  if (FindMoveEnding(command.end) == nullptr) {
    faults.Add(kInvalidField, "end", "must be an end that this release knows");
  }
  const auto require = [&](const char* field, std::optional<Generation> expected) {
    if (expected) return;
    faults.Add(kGenerationRequired, field,
               "is required: the generation of the record as it was last read");
  };
  require("expected_generation", command.expected_generation);
  require("expected_instance_generation", command.expected_instance_generation);
  if (command.instance != nullptr) InstanceFields(faults, "instance", *command.instance);
  TrackerFields(faults, command.tracker);
  ReasonField(faults, command.reason);
  return faults.status();
}

// INVALID_FIELD unless the given record is the record of the instance that moves.
absl::Status CheckInstance(const EndMove& command, const MigrationRecord& migration) {
  if (command.instance == nullptr || command.instance->id == migration.instance) {
    return absl::OkStatus();
  }
  Faults faults;
  faults.Add(kInvalidField, "instance.uuid",
             absl::StrCat("must be ", migration.instance.ToString(), ", the instance that moves"));
  return faults.status();
}

// CONSUMER_GENERATION_CONFLICT, which names each consumer whose generation is given and differs.
absl::Status CheckConsumers(const State& state, const EndMove& command,
                            const MigrationRecord& migration) {
  std::vector<FaultItem> items;
  std::string message;
  const auto compare = [&](Uuid uuid, std::optional<Generation> expected, const char* field) {
    if (!expected) return;
    if (*expected == Generation{}) expected.reset();
    CompareConsumer(
        ConsumerId{uuid}, state.FindConsumer(ConsumerId{uuid}), expected, [field] { return field; },
        items, message);
  };
  compare(migration.instance.uuid, command.expected_instance_consumer,
          "expected_instance_consumer_generation");
  compare(migration.id.uuid, command.expected_migration_consumer,
          "expected_migration_consumer_generation");
  return RefuseAll(absl::StatusCode::kAborted, "CONSUMER_GENERATION_CONFLICT", std::move(message),
                   items);
}

// The changes of the allocations. They release no more than the consumers hold, and take nothing
// that neither of them holds. So none of the plan's checks can fail.
Outcome Apply(const State& state, const InstanceRecord& instance, const MigrationRecord& migration,
              const Settlement& settlement, const RuleContext& context) {
  const ConsumerAllocations wanted = WriteKeepingOwner(
      state, ConsumerId{instance.id.uuid}, settlement.instance, &instance, settlement.held);
  std::vector<Holder> holders;
  holders.push_back({wanted.consumer, settlement.instance, &wanted});
  if (settlement.migration != nullptr) {
    holders.push_back({ConsumerId{migration.id.uuid}, settlement.migration, nullptr});
  }
  ClaimPlan plan(state, std::move(holders));
  BERTH_CHECK(plan.FindProviders().ok() && plan.FindClasses().ok() && plan.FindInventories().ok() &&
              plan.CheckUnits(true).ok() && plan.CheckRoom().ok());
  return plan.MakeOutcome(context);
}

}  // namespace

// Ends a move: the migration's status, the instance's record, and what both consumers hold, change
// together (T-173, T-174, T-177, T-221). Refuses, in this order: a malformed command;
// SERVICE_NOT_REGISTERED; TRACKER_FENCED; what CheckConcern refuses; MIGRATION_NOT_FOUND;
// INVALID_FIELD for the record of another instance; RECORD_CONFLICT for the migration, then for the
// instance; CONSUMER_GENERATION_CONFLICT; POLICY_DENIED; what Settle refuses; what CheckOwners
// refuses. A caller that may know the records, and has read an old one, gets a conflict, whatever
// else is wrong, because it has to read and decide again.
absl::StatusOr<Outcome> Decide(const State& state, const EndMove& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  BERTH_RETURN_IF_ERROR(CheckProcess(state, command.tracker));
  BERTH_RETURN_IF_ERROR(CheckConcern(state, command.tracker, command.migration));
  const MigrationPtr before = state.records().FindMigration(command.migration);
  if (before == nullptr) return MigrationNotFound(command.migration);
  BERTH_RETURN_IF_ERROR(CheckInstance(command, *before));
  const InstancePtr instance = state.records().FindInstance(before->instance);
  BERTH_RETURN_IF_ERROR(CheckGeneration(*command.expected_generation, *before));
  BERTH_RETURN_IF_ERROR(
      CheckGeneration(before->instance, command.expected_instance_generation, instance));
  BERTH_RETURN_IF_ERROR(CheckConsumers(state, command, *before));
  BERTH_RETURN_IF_ERROR(CheckMigrationWrite(state, command.tracker, before, *before));
  const InstancePtr& wanted = command.instance != nullptr ? command.instance : instance;
  if (command.instance != nullptr) {
    BERTH_RETURN_IF_ERROR(CheckInstanceWrite(state, command.tracker, instance, *wanted, before));
  }
  const MoveEnding& ending = *FindMoveEnding(command.end);
  BERTH_ASSIGN_OR_RETURN(const Settlement settlement,
                         Settle(state, *before, ending, *wanted, "end"));
  MigrationRecord ended = *before;
  ended.status = std::string(ending.status);
  const MigrationPtr migration = StoredMigration(std::move(ended), context);
  BERTH_RETURN_IF_ERROR(
      CheckOwners(state, {command.tracker, std::nullopt, instance, *wanted, migration}));
  Outcome outcome;
  if (settlement.changes()) outcome = Apply(state, *wanted, *before, settlement, context);
  if (command.instance != nullptr) {
    outcome.changes.push_back(InstancePut{StoredInstance(*wanted, instance, context)});
  }
  outcome.changes.push_back(MigrationPut{migration});
  return outcome;
}

}  // namespace berth::placement
