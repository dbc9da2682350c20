// Rules: each decides one kind of command, as changes or a refusal.
//
// Pure: the same state, command and context give the same answer. There is one function for each
// command, in a source for each noun. The comment on the function's definition lists its refusals
// in the order in which it checks for them.
#ifndef BERTH_PLACEMENT_RULES_RULES_H_
#define BERTH_PLACEMENT_RULES_RULES_H_

#include "absl/status/statusor.h"
#include "placement/claims/claims.h"
#include "placement/commands/command.h"
#include "placement/commands/outcome.h"
#include "placement/state/state.h"

namespace berth::placement {

// Decides any command. Errors are the command's refusals, in the order that its rule documents.
absl::StatusOr<Outcome> Decide(const State& state, const Command& command,
                               const RuleContext& context);

// provider.cc
absl::StatusOr<Outcome> Decide(const State&, const CreateProvider&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const UpdateProvider&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteProvider&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const SetProviderTraits&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const ClearProviderTraits&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const SetProviderAggregates&, const RuleContext&);
// inventory.cc
absl::StatusOr<Outcome> Decide(const State&, const SetInventories&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const CreateInventory&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const UpdateInventory&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteInventory&, const RuleContext&);
// catalog.cc
absl::StatusOr<Outcome> Decide(const State&, const CreateClass&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteClass&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const EnsureTrait&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteTrait&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const EnsureStandardNames&, const RuleContext&);
// reshape.cc
absl::StatusOr<Outcome> Decide(const State&, const Reshape&, const RuleContext&);
// topology.cc
absl::StatusOr<Outcome> Decide(const State&, const ApplyTopology&, const RuleContext&);
// fleet.cc
absl::StatusOr<Outcome> Decide(const State&, const RegisterService&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const MarkService&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const UpdateService&, const RuleContext&);
// report.cc
absl::StatusOr<Outcome> Decide(const State&, const ApplyReport&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const RetireNode&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteNode&, const RuleContext&);
// ledger.cc
absl::StatusOr<Outcome> Decide(const State&, const SetFormat&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const ImportLedger&, const RuleContext&);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_RULES_H_
