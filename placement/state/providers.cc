// The methods of State that change providers: their configurations, their trees, and the counts of
// the classes and traits that they use.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "placement/ground/check.h"
#include "placement/state/state.h"
#include "placement/values/capacity.h"

namespace berth::placement {
namespace {

template <typename T, typename Less>
bool IsRising(const std::vector<T>& values, Less less) {
  for (size_t i = 1; i < values.size(); ++i) {
    if (!less(values[i - 1], values[i])) return false;
  }
  return true;
}

// Adds `difference` to the count of `key`, and removes the count if it becomes 0.
template <typename Key>
void AddTo(PersistentMap<Key, int64_t>& counts, Key key, int64_t difference) {
  int64_t* count = counts.Edit(key);
  if (count == nullptr) {
    BERTH_CHECK(difference > 0);
    counts.Put(key, difference);
    return;
  }
  *count += difference;
  BERTH_CHECK(*count >= 0);
  if (*count == 0) counts.Erase(key);
}

const ProviderConfig& ConfigOf(const Change& put) { return *std::get<ProviderPut>(put).config; }

}  // namespace

ProviderId State::RootOf(ProviderId id) const {
  const ProviderId* root = root_of_.Find(id);
  return root == nullptr ? id : *root;
}

void State::CheckConfig(const ProviderConfig& config) const {
  // The forms of all commands that make a provider refuse an empty name, a class or an aggregate
  // that is named twice, and unknown classes and traits, unless the command itself creates them.
  // The rules sort the lists.
  BERTH_CHECK(!config.name.empty());
  BERTH_CHECK(IsRising(config.inventories, [](const InventoryRow& a, const InventoryRow& b) {
    return a.resource_class < b.resource_class;
  }));
  for (const InventoryRow& row : config.inventories) {
    BERTH_CHECK(catalog_->classes.Contains(row.resource_class));
    BERTH_CHECK(row.capacity == CapacityOf(row.inventory));
  }
  BERTH_CHECK(IsRising(config.traits, [](TraitId a, TraitId b) { return a < b; }));
  for (const TraitId trait : config.traits) BERTH_CHECK(catalog_->traits.Contains(trait));
  BERTH_CHECK(IsRising(config.aggregates, [](AggregateId a, AggregateId b) { return a < b; }));
}

void State::CountUses(const ProviderConfig& config, int64_t difference) {
  for (const InventoryRow& row : config.inventories) {
    AddTo(class_uses_, row.resource_class, difference);
  }
  for (const TraitId trait : config.traits) AddTo(trait_uses_, trait, difference);
}

void State::TakeApart(ProviderId root, Pool& pool, std::vector<ProviderId>& roots) {
  const TreePtr tree = roots_.Find(root);
  if (tree == nullptr || pool.contains(root)) return;
  roots.push_back(root);
  for (int position = 0; position < tree->size(); ++position) {
    const auto row = tree->used.begin() + tree->shape->first_row[position];
    const auto row_end = tree->used.begin() + tree->shape->first_row[position + 1];
    const auto [_, fresh] =
        pool.emplace(tree->config(position).id,
                     Provider{.config = tree->shape->configs[position],
                              .allocation_generation = tree->allocation_generations[position],
                              .used = {row, row_end},
                              .consumers = tree->consumers[position]});
    BERTH_CHECK(fresh);
  }
}

void State::PutTogether(Pool pool, const std::vector<ProviderId>& old_roots) {
  // Finds the root of each provider: walks up until it reaches a provider whose root is known.
  absl::flat_hash_map<ProviderId, ProviderId> new_roots;
  std::vector<ProviderId> way;
  for (const auto& [id, provider] : pool) {
    ProviderId at = id;
    while (!new_roots.contains(at)) {
      BERTH_CHECK(way.size() <= pool.size());  // P-1: else a provider is below itself
      const std::optional<ProviderId>& parent = pool.at(at).config->parent;
      if (!parent) {
        new_roots[at] = at;
        break;
      }
      BERTH_CHECK(pool.contains(*parent));  // P-1
      way.push_back(at);
      at = *parent;
    }
    const ProviderId root = new_roots.at(at);
    for (const ProviderId passed : way) new_roots[passed] = root;
    way.clear();
  }

  absl::flat_hash_map<ProviderId, std::vector<Provider>> trees;
  for (auto& [id, provider] : pool) {
    const ProviderId root = new_roots.at(id);
    if (root == id) {
      root_of_.Erase(id);
    } else if (const ProviderId* known = root_of_.Find(id); known == nullptr || *known != root) {
      root_of_.Put(id, root);
    }
    trees[root].push_back(std::move(provider));
  }
  for (const ProviderId root : old_roots) {
    if (!trees.contains(root)) roots_.Erase(root);
  }
  for (auto& [root, providers] : trees) roots_.Put(MakeTree(std::move(providers)));
}

// Providers may swap names within a command. So all old names are removed before any new name is
// added.
void State::ReleaseNames(absl::Span<const Change> puts, absl::Span<const Change> removals) {
  const auto release = [this](ProviderId id) {
    const std::optional<ProviderPlace> place = FindProvider(id);
    if (place) BERTH_CHECK(provider_names_.Erase(absl::string_view(place->config().name)));
  };
  for (const Change& put : puts) release(ConfigOf(put).id);
  for (const Change& removal : removals) release(std::get<ProviderRemoved>(removal).id);
}

void State::ApplyProviders(absl::Span<const Change> puts, DroppedUse& dropped) {
  Pool pool;
  std::vector<ProviderId> roots;
  for (const Change& put : puts) {
    TakeApart(RootOf(ConfigOf(put).id), pool, roots);
    if (ConfigOf(put).parent) TakeApart(RootOf(*ConfigOf(put).parent), pool, roots);
  }
  for (const Change& put : puts) PutConfig(std::get<ProviderPut>(put).config, pool, dropped);
  PutTogether(std::move(pool), roots);
}

void State::PutConfig(const std::shared_ptr<const ProviderConfig>& config, Pool& pool,
                      DroppedUse& dropped) {
  CheckConfig(*config);
  BERTH_CHECK(provider_names_.Find(NameKey{config}) == nullptr);  // P-11
  provider_names_.Put(NameKey{config}, config->id);
  CountUses(*config, +1);
  Provider& provider = pool[config->id];
  const std::shared_ptr<const ProviderConfig> old = std::exchange(provider.config, config);
  std::vector<Amount> used(config->inventories.size());
  if (old == nullptr) {
    provider.allocation_generation = config->generation;
  } else {
    BERTH_CHECK(config->generation >= old->generation);  // P-5
    CountUses(*old, -1);
    for (size_t i = 0; i < old->inventories.size(); ++i) {
      const ClassId resource_class = old->inventories[i].resource_class;
      const int row = config->FindInventory(resource_class);
      if (row >= 0) {
        used[row] = provider.used[i];
      } else if (provider.used[i] != 0) {
        dropped[{config->id, resource_class}] = provider.used[i];
      }
    }
  }
  provider.used = std::move(used);
}

void State::ApplyProvidersRemoved(absl::Span<const Change> removals) {
  Pool pool;
  std::vector<ProviderId> roots;
  for (const Change& removal : removals) {
    TakeApart(RootOf(std::get<ProviderRemoved>(removal).id), pool, roots);
  }
  for (const Change& removal : removals) {
    const ProviderId id = std::get<ProviderRemoved>(removal).id;
    const auto found = pool.find(id);
    BERTH_CHECK(found != pool.end());
    BERTH_CHECK(found->second.consumers.empty());  // P-2, P-60
    CountUses(*found->second.config, -1);
    root_of_.Erase(id);
    pool.erase(found);
  }
  PutTogether(std::move(pool), roots);  // ends the process if a removed provider still has a child
}

void State::ApplyUsed(const ProviderUsed& change) {
  roots_.Edit(RootOf(change.id), [&change](Tree& tree) {
    const int position = tree.Find(change.id);
    BERTH_CHECK(position >= 0);
    const ProviderConfig& config = tree.config(position);
    // The rules compute the use from the same rows of consumers that the command writes.
    BERTH_CHECK(change.used.size() == config.inventories.size());
    for (size_t i = 0; i < change.used.size(); ++i) {
      BERTH_CHECK(change.used[i].resource_class == config.inventories[i].resource_class);
      BERTH_CHECK(change.used[i].amount == tree.used_of(position, static_cast<int>(i)));  // P-2
    }
    tree.allocation_generations[position] = change.allocation_generation;
  });
}

}  // namespace berth::placement
