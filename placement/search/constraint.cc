#include "placement/search/constraint.h"

#include <algorithm>
#include <string>
#include <utility>

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

bool RootMatches(const Tree& tree, const RootDemand& wanted) {
  const ProviderConfig& root = tree.config(0);
  return HasOneOfEach(root, wanted.required) && HasNoneOf(root, wanted.forbidden) &&
         IsInOneOfEach(root, wanted.member_of) && IsInNoneOf(root, wanted.forbidden_aggregates);
}

bool NodeIsStale(const State& state, ProviderId root) {
  const auto* node = state.nodes().Find(root);
  if (node == nullptr) return false;
  const std::pair<std::string, std::string> key((*node)->host, std::string(kTrackerBinary));
  const auto* service = state.services().Find(key);
  const bool up = service != nullptr && (*service)->up && !(*service)->forced_down;
  return !up || (*node)->digest.empty();
}

bool NodeIsInService(const State& state, ProviderId root) {
  const auto* node = state.nodes().Find(root);
  return node == nullptr || !(*node)->retired;
}

}  // namespace berth::placement
