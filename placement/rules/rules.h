// Rules: each rule decides one kind of command. It returns changes or a refusal.
//
// Pure: the same state, command and context give the same answer. There is one function for each
// kind of command; the functions about one noun are in one source file. The comment on a function's
// definition lists the refusals in the order in which the function checks for them.
#ifndef BERTH_PLACEMENT_RULES_RULES_H_
#define BERTH_PLACEMENT_RULES_RULES_H_

#include "absl/status/statusor.h"
#include "placement/claims/claims.h"
#include "placement/commands/command.h"
#include "placement/commands/outcome.h"
#include "placement/state/state.h"

namespace berth::placement {

// Whether the command asks only what it would do.
bool OnlyValidates(const CommandBody& body);

// Decides a command of any kind. Errors are first what CheckProjects refuses (claims/project_limit.h), if
// the command's caller may write for certain projects alone; then the command's refusals, in the
// order that the command's rule documents; and last what CheckServerGroups refuses (claims/group_check.h). A
// command that only validates has no changes.
absl::StatusOr<Outcome> Decide(const State& state, const Command& command,
                               const RuleContext& context);

// Defined in provider.cc:
absl::StatusOr<Outcome> Decide(const State&, const CreateProvider&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const UpdateProvider&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteProvider&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const SetProviderTraits&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const ClearProviderTraits&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const SetProviderAggregates&, const RuleContext&);
// Defined in inventory.cc:
absl::StatusOr<Outcome> Decide(const State&, const SetInventories&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const CreateInventory&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const UpdateInventory&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteInventory&, const RuleContext&);
// Defined in catalog.cc:
absl::StatusOr<Outcome> Decide(const State&, const CreateClass&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteClass&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const EnsureTrait&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteTrait&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const EnsureStandardNames&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const SetAggregate&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteAggregate&, const RuleContext&);
// Defined in reshape.cc:
absl::StatusOr<Outcome> Decide(const State&, const Reshape&, const RuleContext&);
// Defined in topology.cc:
absl::StatusOr<Outcome> Decide(const State&, const ApplyTopology&, const RuleContext&);
// Defined in fleet.cc:
absl::StatusOr<Outcome> Decide(const State&, const RegisterService&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const MarkService&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const UpdateService&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteService&, const RuleContext&);
// Defined in evacuation.cc:
absl::StatusOr<Outcome> Decide(const State&, const ReleaseEvacuated&, const RuleContext&);
// Defined in repair.cc:
absl::StatusOr<Outcome> Decide(const State&, const RepairAllocations&, const RuleContext&);
// Defined in report.cc:
absl::StatusOr<Outcome> Decide(const State&, const ApplyReport&, const RuleContext&);
// Defined in node.cc:
absl::StatusOr<Outcome> Decide(const State&, const CreateNode&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const RetireNode&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const MoveNode&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteNode&, const RuleContext&);
// Defined in instance.cc:
absl::StatusOr<Outcome> Decide(const State&, const SetInstance&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteInstance&, const RuleContext&);
// Defined in migration.cc:
absl::StatusOr<Outcome> Decide(const State&, const CreateMigration&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const UpdateMigration&, const RuleContext&);
// Defined in move.cc:
absl::StatusOr<Outcome> Decide(const State&, const EndMove&, const RuleContext&);
// Defined in record_write.cc:
absl::StatusOr<Outcome> Decide(const State&, const WriteRecords&, const RuleContext&);
// Defined in server_group.cc:
absl::StatusOr<Outcome> Decide(const State&, const SetServerGroup&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const UpdateServerGroupMembers&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteServerGroup&, const RuleContext&);
// Defined in ledger.cc:
absl::StatusOr<Outcome> Decide(const State&, const SetFormat&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const ImportLedger&, const RuleContext&);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_RULES_H_
