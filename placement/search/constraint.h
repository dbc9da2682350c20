// Constraints: the conditions that one provider must meet to serve a part of a request. Each
// condition is a named predicate.
//
// All conditions on a single provider are here. RootSearch adds the conditions between providers,
// e.g. that two groups are served by different providers. Pure functions.
#ifndef BERTH_PLACEMENT_SEARCH_CONSTRAINT_H_
#define BERTH_PLACEMENT_SEARCH_CONSTRAINT_H_

#include <vector>

#include "placement/state/state.h"
#include "placement/state/tree.h"
#include "placement/values/types.h"

namespace berth::placement {

// Lists of terms. A provider meets a list if it has at least one member of every term. Example: the
// list {{SSD, NVME}, {AVX}} asks for AVX, and for SSD or NVME.
using TraitSets = std::vector<std::vector<TraitId>>;
using AggregateSets = std::vector<std::vector<AggregateId>>;

// The conditions of a request on the root provider. The root must meet them even if only other
// providers serve the request.
struct RootDemand {
  TraitSets required;
  std::vector<TraitId> forbidden;
  AggregateSets member_of;
  std::vector<AggregateId> forbidden_aggregates;
  std::vector<ProviderId> forbidden_roots;  // ascending
};

// Whether the request may use the root at all.
bool IsForbiddenRoot(const RootDemand& wanted, ProviderId root);

// Whether one more allocation of `wanted` fits into the provider at `position` of `tree` (P-30).
bool CanTake(const Tree& tree, int position, const ClassAmount& wanted);

// The most that all groups of a request together can get of inventory `row`. This is the free
// amount, but at most max_unit, because the amounts of all groups on one inventory become one
// allocation (P-197). Never negative.
Amount RoomFor(const Tree& tree, int position, int row);

bool HasOneOf(const ProviderConfig& provider, const std::vector<TraitId>& set);
bool HasOneOfEach(const ProviderConfig& provider, const TraitSets& sets);
bool HasNoneOf(const ProviderConfig& provider, const std::vector<TraitId>& traits);
bool IsInOneOfEach(const ProviderConfig& provider, const AggregateSets& sets);
bool IsInNoneOf(const ProviderConfig& provider, const std::vector<AggregateId>& aggregates);

// Whether the node of `root` may get candidates: it is not retired (T-40), nor stale if stale ones
// are excluded. True if `root` has no node.
bool NodeMayServe(const State& state, ProviderId root, bool exclude_stale);

// Whether the root provider of `tree` meets `wanted` (P-178).
bool RootMatches(const Tree& tree, const RootDemand& wanted);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_CONSTRAINT_H_
