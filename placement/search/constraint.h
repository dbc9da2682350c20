// Constraints: what must hold for a provider to serve a part of a request, one named predicate each.
//
// The search asks nothing of a single provider that is not written here; what providers must be to
// each other is RootSearch's. Pure.
#ifndef BERTH_PLACEMENT_SEARCH_CONSTRAINT_H_
#define BERTH_PLACEMENT_SEARCH_CONSTRAINT_H_

#include <vector>

#include "placement/state/state.h"
#include "placement/state/tree.h"
#include "placement/values/types.h"

namespace berth::placement {

using TraitSets = std::vector<std::vector<TraitId>>;          // any-of sets, ANDed
using AggregateSets = std::vector<std::vector<AggregateId>>;  // any-of sets, ANDed

// What a request asks of the root of a candidate, whoever serves it.
struct RootDemand {
  TraitSets required;
  std::vector<TraitId> forbidden;
  AggregateSets member_of;
  std::vector<AggregateId> forbidden_aggregates;
};

// Whether the provider at `position` can take one more allocation of `wanted` (P-30).
bool CanTake(const Tree& tree, int position, const ClassAmount& wanted);

// How much more of `row` can be allocated to several groups of one consumer together: what is
// free, and no more than max_unit, since their amounts become one allocation (P-197). Never
// negative.
Amount RoomFor(const Tree& tree, int position, int row);

bool HasOneOf(const ProviderConfig& provider, const std::vector<TraitId>& set);
bool HasOneOfEach(const ProviderConfig& provider, const TraitSets& sets);
bool HasNoneOf(const ProviderConfig& provider, const std::vector<TraitId>& traits);
bool IsInOneOfEach(const ProviderConfig& provider, const AggregateSets& sets);
bool IsInNoneOf(const ProviderConfig& provider, const std::vector<AggregateId>& aggregates);

// Whether the node of `root` was not taken out of the configuration; so is a root without a node
// (T-40).
bool NodeIsInService(const State& state, ProviderId root);

// Whether what is known of the node of `root` may be out of date: its tracker's service is down, or
// no report of it was applied yet. A root without a node is nobody's to report, so never.
bool NodeIsStale(const State& state, ProviderId root);

// Whether the root provider of `tree` is what the plan asks of roots (P-178).
bool RootMatches(const Tree& tree, const RootDemand& wanted);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_CONSTRAINT_H_
