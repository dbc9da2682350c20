#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/claims/plan.h"
#include "placement/commands/record_form.h"
#include "placement/ground/check.h"
#include "placement/rules/fence.h"
#include "placement/rules/rules.h"
#include "placement/rules/settlement.h"
#include "placement/state/lookup.h"

namespace berth::placement {
namespace {

// The type of the consumers of instances.
constexpr char kInstanceType[] = "INSTANCE";

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

absl::Status CheckEnd(const MigrationRecord& migration, const MoveEnding& ending) {
  const absl::string_view why = WhyNotEnd(migration, ending);
  if (why.empty()) return absl::OkStatus();
  return Refuse(absl::StatusCode::kFailedPrecondition, "WRONG_MOVE_END",
                absl::StrCat("migration ", migration.id.ToString(), " with the status ",
                             migration.status, " cannot end as ", ending.status, ": ", why),
                {{{"migration", migration.id.ToString()},
                  {"actual", migration.status},
                  {"requested", std::string(ending.status)},
                  {"field", "end"}}});
}

bool InstanceIsOn(const InstanceRecord& instance, const std::string& host,
                  const std::optional<ProviderId>& node) {
  return instance.host == host && (!node || !instance.node || *node == *instance.node);
}

// INSTANCE_ELSEWHERE if the host in the record does not fit the end. An instance that goes back must
// be on the source, because it holds something there afterwards. An instance that stays away must
// not be on the source; it may have moved on from the destination.
absl::Status CheckPlace(const InstanceRecord& instance, const MigrationRecord& migration,
                        const MoveEnding& ending) {
  const bool on_source = InstanceIsOn(instance, migration.source_host, migration.source_node);
  const bool on_destination =
      InstanceIsOn(instance, migration.destination_host, migration.destination_node);
  const bool arrives = ending.side == MoveSide::kDestination;
  if (arrives ? on_destination || !on_source : on_source) return absl::OkStatus();
  return Refuse(absl::StatusCode::kFailedPrecondition, "INSTANCE_ELSEWHERE",
                absl::StrCat("a move that ends as ", ending.status, " leaves the instance ",
                             arrives ? "away from" : "on", " its source ", migration.source_host,
                             ", but the record of instance ", instance.id.ToString(),
                             " has the host ", instance.host),
                {{{"instance", instance.id.ToString()}, {"field", "instance.host"}}});
}

// CONSUMER_GENERATION_CONFLICT, which names each consumer whose generation is given and differs.
absl::Status CheckConsumers(const EndMove& command, const MigrationRecord& migration,
                            const Settlement& settlement) {
  std::vector<FaultItem> items;
  std::string message;
  const auto compare = [&](ConsumerId id, const ConsumerPtr& consumer,
                           std::optional<Generation> expected, const char* field) {
    if (!expected) return;
    CompareConsumer(
        id, consumer, expected, [field] { return field; }, items, message);
  };
  compare(ConsumerId{migration.instance.uuid}, settlement.instance,
          command.expected_instance_consumer, "expected_instance_consumer_generation");
  compare(ConsumerId{migration.id.uuid}, settlement.migration, command.expected_migration_consumer,
          "expected_migration_consumer_generation");
  return RefuseAll(absl::StatusCode::kAborted, "CONSUMER_GENERATION_CONFLICT", std::move(message),
                   items);
}

// The write after which the instance's consumer holds what `settlement` says, without a lease.
ConsumerAllocations WriteOf(const State& state, const InstanceRecord& instance,
                            const Settlement& settlement) {
  ConsumerAllocations wanted;
  wanted.consumer = ConsumerId{instance.id.uuid};
  if (settlement.instance != nullptr) {
    const Owner& owner = *settlement.instance->owner;
    wanted.project = owner.project;
    wanted.user = owner.user;
    wanted.type = owner.type;
  } else {
    wanted.project = instance.project;
    wanted.user = instance.user;
    wanted.type = kInstanceType;
  }
  wanted.allocations = AmountsOf(state.catalog(), settlement.held);
  return wanted;
}

// The changes of the allocations. They release no more than the consumers hold, and take nothing
// that neither of them holds. So none of the plan's checks can fail.
Outcome Apply(const State& state, const InstanceRecord& instance, const MigrationRecord& migration,
              const Settlement& settlement, const RuleContext& context) {
  const ConsumerAllocations wanted = WriteOf(state, instance, settlement);
  std::vector<Holder> holders;
  holders.push_back({wanted.consumer, settlement.instance, &wanted});
  if (settlement.migration != nullptr && settlement.migration_releases) {
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
// SERVICE_NOT_REGISTERED; TRACKER_FENCED; MIGRATION_NOT_FOUND; INVALID_FIELD for the record of
// another instance; POLICY_DENIED; RECORD_CONFLICT for the migration, then for the instance;
// WRONG_MOVE_END; INSTANCE_ELSEWHERE; CONSUMER_GENERATION_CONFLICT.
absl::StatusOr<Outcome> Decide(const State& state, const EndMove& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  BERTH_RETURN_IF_ERROR(CheckProcess(state, command.tracker));
  const MigrationPtr before = state.records().FindMigration(command.migration);
  if (before == nullptr) return MigrationNotFound(command.migration);
  BERTH_RETURN_IF_ERROR(CheckInstance(command, *before));
  const MoveEnding& ending = *FindMoveEnding(command.end);
  const InstancePtr instance = state.records().FindInstance(before->instance);
  const InstancePtr& wanted = command.instance != nullptr ? command.instance : instance;
  BERTH_RETURN_IF_ERROR(CheckMigrationWrite(state, command.tracker, before, *before));
  if (command.instance != nullptr) {
    BERTH_RETURN_IF_ERROR(CheckInstanceWrite(state, command.tracker, instance, *wanted));
  }
  BERTH_RETURN_IF_ERROR(CheckGeneration(*command.expected_generation, *before));
  BERTH_RETURN_IF_ERROR(
      CheckGeneration(before->instance, command.expected_instance_generation, instance));
  BERTH_RETURN_IF_ERROR(CheckEnd(*before, ending));
  BERTH_RETURN_IF_ERROR(CheckPlace(*wanted, *before, ending));
  const Settlement settlement = Settle(state, *before, ending);
  BERTH_RETURN_IF_ERROR(CheckConsumers(command, *before, settlement));
  Outcome outcome;
  const bool leased = settlement.instance != nullptr && settlement.instance->lease_expires_at;
  if (settlement.changes() || leased) {
    outcome = Apply(state, *wanted, *before, settlement, context);
  }
  if (command.instance != nullptr) {
    outcome.changes.push_back(InstancePut{StoredInstance(*wanted, instance, context)});
  }
  MigrationRecord migration = *before;
  migration.status = std::string(ending.status);
  outcome.changes.push_back(MigrationPut{StoredMigration(std::move(migration), context)});
  return outcome;
}

}  // namespace berth::placement
