// Rules: command + state -> changes or refusal. Pure: same state, command and context, same answer.
//
// One function per command, in rules_*.cc by noun, each a guard ladder in the order that the
// specification documents. A rule reads the state, never changes it, and has no effect when it
// refuses.
#ifndef BERTH_PLACEMENT_RULES_H_
#define BERTH_PLACEMENT_RULES_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/candidate.h"
#include "placement/change.h"
#include "placement/command.h"
#include "placement/state.h"

namespace berth::placement {

// What a rule may know besides the state.
struct RuleContext {
  absl::Time now;    // the batch's ledger time
  Generation fresh;  // the command's number: where the counters of entities made by it begin
  int format_max = kLogFormat;  // the newest format of the log that this release knows
};

// An inventory that is used beyond its capacity after a lawful shrink (P-89).
struct OverCapacity {
  ProviderId provider;
  std::string resource_class;
  Amount used = 0;
  Amount capacity = 0;
};

// A provider that the command addressed, as it stands afterwards, changed or not.
struct ProviderAnswer {
  std::shared_ptr<const ProviderConfig> config;
  ProviderId root;
};

// What the caller is told besides the changes. An answer is built from changes and result alone,
// never from a state that may hold what other commands did since.
struct Result {
  std::vector<ProviderAnswer> providers;
  std::vector<std::pair<ConsumerId, Generation>> consumers;  // those that hold something afterwards
  std::vector<Candidate> candidates;  // PlaceClaims: where, in the order of its members
  uint64_t seed = 0;                  // PlaceClaims: what chance was drawn from; 0: nothing was
  bool created = false;  // EnsureClass, EnsureTrait, RegisterService: it was not there before
  std::vector<ConsumerId> absent;           // ReleaseConsumers: those that held nothing
  std::vector<OverCapacity> over_capacity;  // of the providers, one after another
  std::vector<std::string> unknown_traits;  // ApplyReport: names that it left out (T-213)
  int64_t imported = 0;                     // ImportLedger: how many entities it brought
  std::vector<std::string> warnings;        // in words, e.g. an unallocatable inventory (P-18)
};

struct Outcome {
  Changes changes;  // in order; empty: nothing had to change
  Result result;
};

// Decides any command. Errors are the command's refusals, in the order that its rule documents.
absl::StatusOr<Outcome> Decide(const State& state, const Command& command,
                               const RuleContext& context);

// rules_provider.cc
absl::StatusOr<Outcome> Decide(const State&, const CreateProvider&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const UpdateProvider&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteProvider&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const SetProviderTraits&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const ClearProviderTraits&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const SetProviderAggregates&, const RuleContext&);
// rules_inventory.cc
absl::StatusOr<Outcome> Decide(const State&, const SetInventories&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const CreateInventory&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const UpdateInventory&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteInventory&, const RuleContext&);
// rules_catalog.cc
absl::StatusOr<Outcome> Decide(const State&, const CreateClass&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteClass&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const EnsureTrait&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteTrait&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const EnsureStandardNames&, const RuleContext&);
// rules_allocation.cc
absl::StatusOr<Outcome> Decide(const State&, const SetAllocations&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteAllocations&, const RuleContext&);
// rules_consumer.cc
absl::StatusOr<Outcome> Decide(const State&, const AdjustAllocations&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const ReleaseConsumers&, const RuleContext&);
// rules_lease.cc
absl::StatusOr<Outcome> Decide(const State&, const SetLease&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const ExpireLeases&, const RuleContext&);
// rules_reshape.cc
absl::StatusOr<Outcome> Decide(const State&, const Reshape&, const RuleContext&);
// rules_topology.cc
absl::StatusOr<Outcome> Decide(const State&, const ApplyTopology&, const RuleContext&);
// rules_claim.cc
absl::StatusOr<Outcome> Decide(const State&, const PlaceClaims&, const RuleContext&);
// rules_fleet.cc
absl::StatusOr<Outcome> Decide(const State&, const RegisterService&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const MarkService&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const UpdateService&, const RuleContext&);
// rules_report.cc
absl::StatusOr<Outcome> Decide(const State&, const ApplyReport&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const RetireNode&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteNode&, const RuleContext&);
// rules_ledger.cc
absl::StatusOr<Outcome> Decide(const State&, const SetFormat&, const RuleContext&);
// rules_import.cc
absl::StatusOr<Outcome> Decide(const State&, const ImportLedger&, const RuleContext&);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_H_
