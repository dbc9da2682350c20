#include "placement/search/constraint.h"

#include <algorithm>

#include "placement/values/capacity.h"

namespace berth::placement {

bool CanTake(const Tree& tree, int position, const ClassAmount& wanted) {
  const ProviderConfig& provider = tree.config(position);
  const int row = provider.FindInventory(wanted.resource_class);
  if (row < 0) return false;
  const InventoryRow& offered = provider.inventories[row];
  return Fits(offered.inventory, offered.capacity, tree.used_of(position, row), wanted.amount);
}

Amount RoomFor(const Tree& tree, int position, int row) {
  const InventoryRow& offered = tree.config(position).inventories[row];
  const Amount free = offered.capacity - tree.used_of(position, row);
  return std::clamp<Amount>(free, 0, offered.inventory.max_unit);
}

bool HasOneOf(const ProviderConfig& provider, const std::vector<TraitId>& set) {
  return std::any_of(set.begin(), set.end(),
                     [&provider](TraitId trait) { return provider.HasTrait(trait); });
}

bool HasOneOfEach(const ProviderConfig& provider, const TraitSets& sets) {
  return std::all_of(sets.begin(), sets.end(),
                     [&provider](const auto& set) { return HasOneOf(provider, set); });
}

bool HasNoneOf(const ProviderConfig& provider, const std::vector<TraitId>& traits) {
  return !HasOneOf(provider, traits);
}

bool IsInOneOfEach(const ProviderConfig& provider, const AggregateSets& sets) {
  return std::all_of(sets.begin(), sets.end(),
                     [&provider](const auto& set) { return !IsInNoneOf(provider, set); });
}

bool IsInNoneOf(const ProviderConfig& provider, const std::vector<AggregateId>& aggregates) {
  return std::none_of(aggregates.begin(), aggregates.end(), [&provider](AggregateId aggregate) {
    return provider.IsMemberOf(aggregate);
  });
}

bool IsForbiddenRoot(const RootDemand& wanted, ProviderId root) {
  return std::binary_search(wanted.forbidden_roots.begin(), wanted.forbidden_roots.end(), root);
}

bool RootMatches(const Tree& tree, const RootDemand& wanted) {
  const ProviderConfig& root = tree.config(0);
  return HasOneOfEach(root, wanted.required) && HasNoneOf(root, wanted.forbidden) &&
         IsInOneOfEach(root, wanted.member_of) && IsInNoneOf(root, wanted.forbidden_aggregates) &&
         !IsForbiddenRoot(wanted, root.id);
}

bool NodeMayServe(const State& state, ProviderId root, bool exclude_stale) {
  return !state.fleet().IsRetired(root) && !(exclude_stale && state.fleet().IsStale(root));
}

}  // namespace berth::placement
