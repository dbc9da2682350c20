// The removal of nodes with everything in their provider trees. Pure functions of the state.
#ifndef BERTH_PLACEMENT_RULES_NODE_REMOVAL_H_
#define BERTH_PLACEMENT_RULES_NODE_REMOVAL_H_

#include <vector>

#include "absl/status/status.h"
#include "placement/commands/outcome.h"
#include "placement/state/state.h"

namespace berth::placement {

// Refuses, in this order, the removal of `nodes`:
// - PROVIDER_HAS_CHILDREN if below one of them is another node or, without `cascade`, a provider
//   that no tracker made (T-202);
// - PROVIDER_IN_USE, without `cascade`, if anything in their subtrees is allocated.
absl::Status CheckRemovable(const State& state, const std::vector<ProviderId>& nodes, bool cascade);

// Appends to `outcome` the release of everything that is allocated in the subtrees of `nodes`, and
// the removal of these subtrees and of the nodes' records. Consumers keep what they hold on other
// providers (T-223, T-225). REQUIRES: CheckRemovable is OK; each node has a record; the outcome has
// no changes yet.
void RemoveNodes(const State& state, const std::vector<ProviderId>& nodes,
                 const RuleContext& context, Outcome& outcome);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_NODE_REMOVAL_H_
