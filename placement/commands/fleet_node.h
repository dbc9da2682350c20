// What rules need of nodes: which providers belong to a node, the trait that says that its service
// is disabled, and the end of retired nodes.
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

// The trait of providers that trackers made. A report may remove only these (T-202).
inline constexpr absl::string_view kOwnedTrait = "OWNER_NOVA";
// The trait that a node's root has while its service is disabled (T-212).
inline constexpr absl::string_view kDisabledTrait = "COMPUTE_STATUS_DISABLED";

// The service, or null.
ServicePtr FindService(const State& state, absl::string_view host, absl::string_view binary);
// The node whose root provider is `id`, or null.
NodeRecordPtr FindNode(const State& state, ProviderId id);

// Whether the service is up and no operator forced it down. While this is true, no other process
// may take over its host (T-291, T-298).
bool HoldsLease(const ServiceRecord& service);

// Adds the disabled trait to `traits` or removes it (T-212). Does nothing if the catalog has no
// such trait. REQUIRES: `traits` are rising, each once; they stay so.
void FollowService(const State& state, bool disabled, std::vector<TraitId>& traits);

// The position of the first provider below the node at position `root` that does not belong to the
// node: another node or, unless `nodes_only`, a provider that no tracker made. -1 if there is none
// (T-202).
int FirstForeign(const State& state, const Tree& tree, int root, bool nodes_only);

// Ends retired nodes that are no longer used (T-40). `changes` are those of a command that releases
// allocations of the providers `released`. For each retired node that owns one of them and of whose
// subtree nobody holds anything after `changes`, appends the removal of its providers and its
// record. A node with providers of others below it is kept. REQUIRES: `changes` are otherwise
// complete, and none of them is about a node.
void EndRetiredNodes(const State& state, const std::vector<ProviderId>& released, Changes& changes);

// The position of the node that owns the provider at `position`: the closest node at or above it,
// or -1 if there is none.
int OwningNode(const State& state, const Tree& tree, int position);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_FLEET_NODE_H_
