#include "tests/worlds/brute_world.h"

namespace berth::placement {

PlainWorld WorldOf(const State& state) {
  PlainWorld world;
  for (const auto& chunk : state.roots().chunks()) {
    for (ProviderId root : chunk->ids) {
      const TreePtr tree = state.FindTree(root);
      for (int position = 0; position < tree->size(); ++position) {
        const ProviderConfig& config = tree->config(position);
        PlainProvider& provider = world.emplace_back();
        provider.id = config.id;
        provider.root = root;
        for (int at = position; at >= 0; at = tree->shape->parent_of[at]) {
          provider.line.push_back(tree->config(at).id);
        }
        for (TraitId trait : config.traits) {
          provider.traits.insert(state.catalog().traits.NameOf(trait));
        }
        provider.aggregates.insert(config.aggregates.begin(), config.aggregates.end());
        for (size_t row = 0; row < config.inventories.size(); ++row) {
          const InventoryRow& offered = config.inventories[row];
          const std::string& name = state.catalog().classes.NameOf(offered.resource_class);
          provider.inventories[name] = offered.inventory;
          provider.used[name] = tree->used_of(position, static_cast<int>(row));
        }
      }
    }
  }
  return world;
}

// P-27, P-30; `amount` on top of what is used.
bool FitsIn(const PlainProvider& provider, const std::string& name, Amount amount,
            bool ignore_use) {
  const auto found = provider.inventories.find(name);
  if (found == provider.inventories.end()) return false;
  const Inventory& inventory = found->second;
  const auto capacity = static_cast<Amount>(
      static_cast<double>(inventory.total - inventory.reserved) * inventory.allocation_ratio);
  return amount >= inventory.min_unit && amount <= inventory.max_unit &&
         amount % inventory.step_size == 0 &&
         (ignore_use ? 0 : provider.used.at(name)) + amount <= capacity;
}

// P-108, P-176.
bool MayServe(const PlainWorld& world, const PlainProvider& provider, const PlainProvider& root) {
  if (provider.root == root.id) return true;
  if (!provider.shares()) return false;
  return std::any_of(world.begin(), world.end(), [&](const PlainProvider& other) {
    return other.root == root.id &&
           std::any_of(other.aggregates.begin(), other.aggregates.end(),
                       [&](AggregateId a) { return provider.aggregates.contains(a); });
  });
}

Amount LargestShare(const PlainProvider& provider, const std::string& name, Amount taken,
                    Amount amount) {
  for (Amount share = amount; share > 0; --share) {
    if (!FitsIn(provider, name, share)) continue;
    const Inventory& inventory = provider.inventories.at(name);
    if (taken + share > inventory.max_unit) continue;
    if (taken == 0 || FitsIn(provider, name, taken + share)) return share;
  }
  return 0;
}

}  // namespace berth::placement
