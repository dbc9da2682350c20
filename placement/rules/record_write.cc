#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/commands/fleet_node.h"
#include "placement/commands/node_providers.h"
#include "placement/commands/record_form.h"
#include "placement/records/tracker_edit.h"
#include "placement/rules/fence.h"
#include "placement/rules/owners.h"
#include "placement/rules/rules.h"
#include "placement/rules/settlement.h"
#include "placement/values/migration_status.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

// The command that ends the move whose records the write would leave so.
EndMove EndOf(const WriteRecords& command, InstanceRecord after) {
  EndMove end;
  end.migration = command.migration->migration;
  end.end = *command.migration->end;
  end.expected_generation = command.migration->expected_generation;
  end.expected_instance_generation = command.expected_generation;
  end.instance = std::make_shared<const InstanceRecord>(std::move(after));
  end.tracker = command.tracker;
  return end;
}

// The records as they are, before the write.
struct RecordsBefore {
  InstancePtr instance;
  MigrationPtr migration;  // null: the command writes none
};

absl::Status Deny(const WriteRecords& command, absl::string_view why) {
  return Refuse(
      absl::StatusCode::kPermissionDenied, "POLICY_DENIED",
      absl::StrCat("the tracker of host ", command.tracker.host, " may not write records for node ",
                   command.node.ToString(), ": ", why),
      {{{"node", command.node.ToString()}, {"host", command.tracker.host}}});
}

absl::Status Conflict(const WriteRecords& command, const std::string& why) {
  return Refuse(absl::StatusCode::kAborted, "RECORD_CONFLICT",
                absl::StrCat("instance ", command.instance.ToString(), " ", why),
                {{{"instance", command.instance.ToString()}}});
}

// POLICY_DENIED unless the node is an active one of the tracker's host, and all instances on it that
// count (T-112) are recorded for that host. A node that came from another host may still have
// instances with the other host in their records. The tracker does not get these records, so it
// would give their CPUs away. Looks at the instances that hold something of the node's own
// providers, except its shared pools: guests of the whole fleet may hold something of a pool. (They
// may also hold disk of a root that is a sharing provider. Such a root is looked at in full.)
absl::Status CheckNode(const State& state, const WriteRecords& command) {
  const NodeRecordPtr node = FindNode(state, command.node);
  if (!node || node->host != command.tracker.host) return Deny(command, "it is not of this host");
  if (node->retired) return Deny(command, "it is retired");
  InstancePtr foreign;
  const auto look = [&](const ConsumerId& id, const auto&) {
    const InstancePtr instance = state.records().FindInstance(InstanceId{id.uuid});
    const bool is_there =
        instance != nullptr && instance->node == command.node && !IsRemovable(*instance);
    if (is_there && instance->host != node->host) foreign = instance;
    return foreign == nullptr;
  };
  NodeProviders(state, command.node).ForEach([&](const ProviderPlace& place) {
    if (foreign != nullptr || IsSharedPool(state, place.config())) return;
    place.consumers().ForEach(look);
  });
  if (foreign == nullptr) return absl::OkStatus();
  return Deny(command, absl::StrCat("instance ", foreign->id.ToString(), " is on it with host ",
                                    foreign->host));
}

bool IsHere(const WriteRecords& command, const std::string& host,
            const std::optional<ProviderId>& node) {
  return host == command.tracker.host && (!node || *node == command.node);
}

// RECORD_CONFLICT if the instance is on another node, and neither moves from or to this one nor is
// shelved. `migration`: the migration that is written, or null.
absl::Status CheckPlace(const WriteRecords& command, const InstanceRecord& before,
                        const MigrationRecord* migration) {
  if (before.host.empty() || IsHere(command, before.host, before.node) ||
      before.vm_state == kOffloadedState) {
    return absl::OkStatus();
  }
  const bool moves = migration != nullptr &&
                     (IsHere(command, migration->source_host, migration->source_node) ||
                      IsHere(command, migration->destination_host, migration->destination_node));
  return moves ? absl::OkStatus() : Conflict(command, absl::StrCat("is on host ", before.host));
}

// POLICY_DENIED if the write would put the instance, or the destination of its migration, on
// another node than the tracker's.
absl::Status CheckTarget(const WriteRecords& command, const RecordsBefore& before,
                         const InstanceRecord& after, const MigrationRecord* migration) {
  const bool stays = after.host == before.instance->host && after.node == before.instance->node;
  const bool goes = after.host.empty() && !after.node;
  const bool comes = after.host == command.tracker.host && after.node == command.node;
  if (!stays && !goes && !comes) return Deny(command, "the instance would be on another node");
  if (migration == nullptr ||
      (migration->destination_host == before.migration->destination_host &&
       migration->destination_node == before.migration->destination_node) ||
      (migration->destination_host == command.tracker.host &&
       migration->destination_node == command.node)) {
    return absl::OkStatus();
  }
  return Deny(command, "the migration would go to another node");
}

MigrationRecord Edited(const MigrationRecord& before, const MigrationEdit& edit) {
  MigrationRecord after = before;
  after.status = edit.status;
  after.destination_host = edit.destination_host;
  after.destination_node = edit.destination_node;
  return after;
}

// POLICY_DENIED unless the records concern the tracker's host (T-386). `migration`: as it is after
// the write; null: the command writes none. A move that still holds resources makes its instance
// concern both hosts.
absl::Status CheckFence(const State& state, const WriteRecords& command,
                        const RecordsBefore& before, const InstanceRecord& after,
                        const MigrationPtr& migration) {
  if (migration != nullptr) {
    BERTH_RETURN_IF_ERROR(
        CheckMigrationWrite(state, command.tracker, before.migration, *migration));
  }
  const bool moves = migration != nullptr && HoldsResources(migration->status);
  return CheckInstanceWrite(state, command.tracker, before.instance, after,
                            moves ? migration : nullptr);
}

Outcome Put(const InstanceRecord& after, const RecordsBefore& before, MigrationPtr migration,
            const RuleContext& context) {
  Outcome outcome;
  outcome.changes.push_back(InstancePut{StoredInstance(after, before.instance, context)});
  if (migration != nullptr) outcome.changes.push_back(MigrationPut{std::move(migration)});
  return outcome;
}

// What CheckConcern refuses for the migration, then for the instance.
absl::Status CheckConcerns(const State& state, const WriteRecords& command) {
  MigrationPtr migration;
  if (command.migration) {
    const MigrationId id = command.migration->migration;
    BERTH_RETURN_IF_ERROR(CheckConcern(state, command.tracker, id));
    migration = state.records().FindMigration(id);
  }
  return CheckConcern(state, command.tracker, command.instance, migration);
}

// What CheckConcerns refuses; INSTANCE_NOT_FOUND, MIGRATION_NOT_FOUND, INVALID_FIELD, or
// RECORD_CONFLICT.
absl::StatusOr<RecordsBefore> FindRecords(const State& state, const WriteRecords& command) {
  BERTH_RETURN_IF_ERROR(CheckConcerns(state, command));
  RecordsBefore before;
  before.instance = state.records().FindInstance(command.instance);
  if (before.instance == nullptr) return InstanceNotFound(command.instance, "instance.uuid");
  if (command.migration) {
    before.migration = state.records().FindMigration(command.migration->migration);
    if (before.migration == nullptr) return MigrationNotFound(command.migration->migration);
    if (before.migration->instance != command.instance) {
      Faults faults;
      faults.Add(kInvalidField, "migration.uuid", "must be a migration of the instance");
      return faults.status();
    }
  }
  BERTH_RETURN_IF_ERROR(
      CheckGeneration(command.instance, command.expected_generation, before.instance));
  if (command.migration) {
    BERTH_RETURN_IF_ERROR(
        CheckGeneration(command.migration->expected_generation, *before.migration));
  }
  return before;
}

// Gives the records new generations, so that the earlier write is refused. The records have the
// generations of before the earlier write, so that write has not been applied. The fence judges the
// withdrawal as a write that takes the instance off its host, or that makes the tracker's host the
// destination of a migration that has none.
absl::StatusOr<Outcome> Withdraw(const State& state, const WriteRecords& command,
                                 const RecordsBefore& before, const RuleContext& context) {
  MigrationPtr meant = before.migration;
  if (meant != nullptr && meant->destination_host.empty()) {
    auto claimed = std::make_shared<MigrationRecord>(*meant);
    claimed->destination_host = command.tracker.host;
    meant = std::move(claimed);
  }
  InstanceRecord taken = *before.instance;
  taken.host.clear();
  taken.node.reset();
  BERTH_RETURN_IF_ERROR(CheckFence(state, command, before, taken, meant));
  MigrationPtr migration;
  if (before.migration != nullptr) migration = StoredMigration(*before.migration, context);
  return Put(*before.instance, before, std::move(migration), context);
}

}  // namespace

// Writes what a tracker has claimed, or withdraws an earlier write. Refuses, in this order: a
// malformed tracker; SERVICE_NOT_REGISTERED; TRACKER_FENCED (T-386); POLICY_DENIED for the node,
// unless an earlier write is withdrawn; what CheckConcern refuses; INSTANCE_NOT_FOUND;
// MIGRATION_NOT_FOUND; INVALID_FIELD for a migration of another instance; RECORD_CONFLICT if a
// record has another generation. If an
// earlier write is withdrawn, refuses then only with POLICY_DENIED for records that do not concern
// the tracker's host. If a move ends, the rest is decided as for EndMove. Else refuses a malformed
// record; with POLICY_DENIED if the instance or its migration would go to another node;
// RECORD_CONFLICT if the instance is elsewhere; POLICY_DENIED for records that do not concern the
// tracker's host; WRONG_MOVE_END or MOVE_HOLDS_ALLOCATIONS for the status of a migration, as
// UpdateMigration does; POLICY_DENIED if the instance would get something of another node;
// RECORD_CONFLICT if something of the node would get a second owner.
absl::StatusOr<Outcome> Decide(const State& state, const WriteRecords& command,
                               const RuleContext& context) {
  Faults faults;
  TrackerFields(faults, command.tracker);
  BERTH_RETURN_IF_ERROR(faults.status());
  BERTH_RETURN_IF_ERROR(CheckProcess(state, command.tracker, "tracker."));
  if (command.written != nullptr) BERTH_RETURN_IF_ERROR(CheckNode(state, command));
  BERTH_ASSIGN_OR_RETURN(const RecordsBefore before, FindRecords(state, command));
  if (command.written == nullptr) return Withdraw(state, command, before, context);
  const bool ends = command.migration && command.migration->end;
  InstanceRecord after = TrackerEdit(*before.instance, *command.written,
                                     ends && *command.migration->end == MoveEnd::kReverted);
  if (ends) {
    return Decide(state, EndOf(command, std::move(after)), context);
  }
  MigrationPtr migration;
  if (before.migration != nullptr) {
    migration = StoredMigration(Edited(*before.migration, *command.migration), context);
  }
  InstanceFields(faults, "instance", after);
  if (migration != nullptr) MigrationFields(faults, *migration);
  BERTH_RETURN_IF_ERROR(faults.status());
  BERTH_RETURN_IF_ERROR(CheckTarget(command, before, after, migration.get()));
  BERTH_RETURN_IF_ERROR(CheckPlace(command, *before.instance, migration.get()));
  BERTH_RETURN_IF_ERROR(CheckFence(state, command, before, after, migration));
  if (migration != nullptr) {
    BERTH_RETURN_IF_ERROR(CheckStatusChange(state, *before.migration, *migration));
  }
  BERTH_RETURN_IF_ERROR(
      CheckOwners(state, {command.tracker, command.node, before.instance, after, migration}));
  return Put(after, before, std::move(migration), context);
}

}  // namespace berth::placement
