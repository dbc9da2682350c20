// Functions about nodes that several rules need: which providers belong to a node, the trait that
// says that the node's service is disabled (node_traits.h), and the removal of retired nodes.
//
// Pure functions of the state.
#ifndef BERTH_PLACEMENT_COMMANDS_FLEET_NODE_H_
#define BERTH_PLACEMENT_COMMANDS_FLEET_NODE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "placement/state/state.h"
#include "placement/values/change.h"
#include "placement/values/fleet.h"
#include "placement/values/node_traits.h"

namespace berth::placement {

// The service of `host` and `binary`, or null.
ServicePtr FindService(const State& state, absl::string_view host, absl::string_view binary);
// The node whose root provider is `id`, or null.
NodeRecordPtr FindNode(const State& state, ProviderId id);

// NOT_FOUND / HOST_NOT_FOUND for the field `host`.
absl::Status TrackerNotFound(const std::string& host);

// OK if the node is on `host`, else ABORTED / RECORD_CONFLICT (T-41).
absl::Status CheckOnHost(const NodeRecord& node, const std::string& host);

// Adds kDisabledTrait to `traits` if `disabled`, else removes it (T-212). Does nothing if the
// catalog does not have that trait. REQUIRES: `traits` are sorted, each once. They stay so.
void FollowService(const State& state, bool disabled, std::vector<TraitId>& traits);

// Removes retired nodes that are no longer used (T-40). `changes` are those of a command that
// releases allocations on the providers `released`. If a retired node owns one of `released`, and
// nobody holds anything in its subtree after `changes`, then the removal of the node's providers
// and of its record is appended to `changes`. A node is kept if a provider that does not belong to
// it is below it. REQUIRES: `changes` are otherwise complete, and none of them is about a node.
void EndRetiredNodes(const State& state, const std::vector<ProviderId>& released, Changes& changes);

// The position of the node that owns the provider at `position`, i.e. of the closest node at or
// above the provider; -1 if there is none.
int OwningNode(const State& state, const Tree& tree, int position);
// The record of the node that owns the provider; null if the provider does not exist, or belongs to
// no node.
NodeRecordPtr FindOwner(const State& state, ProviderId provider);

// Whether trees beside its own may use the provider (P-106).
bool IsSharing(const State& state, const ProviderConfig& provider);
// Whether the provider is a sharing one and not the root of a node. Consumers on any node may hold
// something of such a pool, wherever the pool is. The root of a node may be a sharing provider, too,
// but the guests of the node hold their CPUs of the root. So what a consumer holds of a root counts
// for the root's node, except disk where the holder may be on another node (IsSharedDisk).
bool IsSharedPool(const State& state, const ProviderConfig& provider);
// The record of the node on which a consumer holds what it holds of the provider: the node that
// owns the provider. Null if no node owns it, and for a shared pool (IsSharedPool).
NodeRecordPtr FindNodeOfHoldings(const State& state, ProviderId provider);
// Whether the row is disk of a sharing provider. Guests of any node may hold that, even if the
// provider is the root of another node.
bool IsSharedDisk(const State& state, const Allocation& row);
// The record of the node on which the holder of the row is by this row: that of FindNodeOfHoldings.
// Null also for disk of a sharing provider, which does not say where its holder is.
NodeRecordPtr FindNodeOfRow(const State& state, const Allocation& row);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_FLEET_NODE_H_
