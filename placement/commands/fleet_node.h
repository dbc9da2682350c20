// Nodes in rules: who may write a node, which providers are its own, and the trait that follows
// its service.
//
// Pure functions of the state.
#ifndef BERTH_PLACEMENT_COMMANDS_FLEET_NODE_H_
#define BERTH_PLACEMENT_COMMANDS_FLEET_NODE_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "placement/state/state.h"
#include "placement/values/change.h"
#include "placement/values/fleet.h"

namespace berth::placement {

// Says whose providers a report may remove (T-202).
inline constexpr absl::string_view kOwnedTrait = "OWNER_NOVA";
// Stands on a root while its service is disabled (T-212).
inline constexpr absl::string_view kDisabledTrait = "COMPUTE_STATUS_DISABLED";

// The service, or null.
ServicePtr FindService(const State& state, absl::string_view host, absl::string_view binary);
// The node whose root provider is `id`, or null.
NodeRecordPtr FindNode(const State& state, ProviderId id);

// Whether the service's lease stands: it is up and nobody fenced it (T-291, T-298).
bool HoldsLease(const ServiceRecord& service);

// Adds or takes the disabled trait (T-212); changes nothing where the catalog has no such trait.
// REQUIRES: `traits` rising, each once; stays so.
void FollowService(const State& state, bool disabled, std::vector<TraitId>& traits);

// Position in `tree` of the first provider below the node at `root` that is another node or, unless
// `nodes_only`, that no tracker made; or -1: the subtree is the node's own (T-202).
int FirstForeign(const State& state, const Tree& tree, int root, bool nodes_only);

// Ends the retired nodes of which nobody holds anything any more once `changes`, those of a command
// that released something of `released`, took effect: appends the removal of their providers and
// records (T-40). A node stays while others' providers stand below it. REQUIRES: `changes` are
// complete but for that, and none of them is about a node.
void EndRetiredNodes(const State& state, const std::vector<ProviderId>& released, Changes& changes);

// Position in `tree` of the closest node at or above `position`, or -1: the node that owns it.
int OwningNode(const State& state, const Tree& tree, int position);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_FLEET_NODE_H_
