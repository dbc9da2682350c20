// The rules about allocations: consumers set, adjust, release, lease and claim them.
//
// Pure, like all rules (rules.h). The comment on the definition of each function lists its refusals
// in their order.
#ifndef BERTH_PLACEMENT_CLAIMS_CLAIMS_H_
#define BERTH_PLACEMENT_CLAIMS_CLAIMS_H_

#include "absl/status/statusor.h"
#include "placement/commands/command.h"
#include "placement/commands/outcome.h"
#include "placement/state/state.h"

namespace berth::placement {

absl::StatusOr<Outcome> Decide(const State&, const SetAllocations&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const DeleteAllocations&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const AdjustAllocations&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const ReleaseConsumers&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const SetLease&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const ExpireLeases&, const RuleContext&);
absl::StatusOr<Outcome> Decide(const State&, const PlaceClaims&, const RuleContext&);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_CLAIMS_H_
