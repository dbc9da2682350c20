#include "placement/ledger/loss.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace berth::placement {
namespace {

// The ids of classes or traits whose name in `a` differs from their name in `b`, or that have a
// name in only one of them. After the database went back in time, one id may have been given to two
// names.
template <typename IdType>
absl::flat_hash_set<IdType> IdsApart(const NameTable<IdType>& a, const NameTable<IdType>& b) {
  absl::flat_hash_set<IdType> apart;
  for (const auto* table : {&a, &b}) {
    const NameTable<IdType>& other = table == &a ? b : a;
    for (const auto& [name, id] : table->by_name()) {
      if (!other.Contains(id) || other.NameOf(id) != name) apart.insert(id);
    }
  }
  return apart;
}

class Comparison {
 public:
  Comparison(const State& a, const State& b)
      : a_(a),
        b_(b),
        classes_apart_(IdsApart(a.catalog().classes, b.catalog().classes)),
        traits_apart_(IdsApart(a.catalog().traits, b.catalog().traits)) {}

  std::vector<EntityKey> All() {
    ForEachEntityKind([this](EntityKind kind) { Entities(kind); });
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return std::move(found_);
  }

 private:
  void Entities(EntityKind kind) {
    switch (kind) {
      case EntityKind::kResourceClass:
        return Names(kind, a_.catalog().classes, b_.catalog().classes);
      case EntityKind::kTrait:
        return Names(kind, a_.catalog().traits, b_.catalog().traits);
      case EntityKind::kProvider:
        Providers(a_, b_, true);
        return Providers(b_, a_, false);
      case EntityKind::kProviderUsage:
        return;  // compared together with the providers
      case EntityKind::kConsumer:
        Consumers(a_, b_, true);
        return Consumers(b_, a_, false);
      case EntityKind::kService:
        return Records(kind, a_.services(), b_.services());
      case EntityKind::kNode:
        return Records(kind, a_.nodes(), b_.nodes());
      case EntityKind::kAggregate:
        return Records(kind, a_.aggregates().by_id(), b_.aggregates().by_id());
      case EntityKind::kServerGroup:
        return Records(kind, a_.records().groups(), b_.records().groups());
      case EntityKind::kInstance:
        return Records(kind, a_.records().instances(), b_.records().instances());
      case EntityKind::kMigration:
        return Records(kind, a_.records().migrations(), b_.records().migrations());
    }
  }

  void Add(EntityKind kind, std::string key) { found_.push_back({kind, std::move(key)}); }

  bool Same(const ProviderConfig& a, const ProviderConfig& b) const {
    for (const InventoryRow& row : a.inventories) {
      if (classes_apart_.contains(row.resource_class)) return false;
    }
    for (const TraitId trait : a.traits) {
      if (traits_apart_.contains(trait)) return false;
    }
    return a.generation == b.generation && a.name == b.name && a.parent == b.parent &&
           a.inventories == b.inventories && a.traits == b.traits && a.aggregates == b.aggregates;
  }

  bool SameUse(const ProviderPlace& a, const ProviderPlace& b) const {
    if (a.allocation_generation() != b.allocation_generation()) return false;
    if (a.config().inventories.size() != b.config().inventories.size()) return false;
    for (int row = 0; row < static_cast<int>(a.config().inventories.size()); ++row) {
      const ClassId resource_class = a.config().inventories[row].resource_class;
      if (resource_class != b.config().inventories[row].resource_class ||
          classes_apart_.contains(resource_class) || a.used(row) != b.used(row)) {
        return false;
      }
    }
    return true;
  }

  bool Same(const Consumer& a, const Consumer& b) const {
    for (const Allocation& allocation : a.allocations) {
      if (classes_apart_.contains(allocation.resource_class)) return false;
    }
    return a.generation == b.generation && *a.owner == *b.owner && a.allocations == b.allocations;
  }

  template <typename Record>
  static bool Same(const Record& a, const Record& b) {
    return a == b;
  }

  static bool Same(NodeRecord a, NodeRecord b) {
    const bool same_facts = (a.facts == nullptr) == (b.facts == nullptr) &&
                            (a.facts == nullptr || *a.facts == *b.facts);
    a.facts = b.facts = nullptr;
    return same_facts && a == b;
  }

  // The uuid of a record: a service, a node, an aggregate, a server group, an instance or
  // a migration.
  template <typename Record>
  static std::string KeyOf(const Record& record) {
    return record.id.ToString();
  }

  // Adds the providers that only `from` has. If `compared`, also adds the providers that both
  // states have and that differ.
  void Providers(const State& from, const State& other, bool compared) {
    for (const auto& chunk : from.roots().chunks()) {
      for (int at = 0; at < chunk->trees.size(); ++at) {
        const TreePtr& tree = chunk->trees[at];
        for (int position = 0; position < tree->size(); ++position) {
          Provider(ProviderPlace{tree, position}, other, compared);
        }
      }
    }
  }

  void Provider(const ProviderPlace& place, const State& other, bool compared) {
    const ProviderId id = place.config().id;
    const std::optional<ProviderPlace> found = other.FindProvider(id);
    if (!found) return Add(EntityKind::kProvider, id.ToString());
    if (!compared) return;
    if (!Same(place.config(), found->config())) Add(EntityKind::kProvider, id.ToString());
    if (!SameUse(place, *found)) Add(EntityKind::kProviderUsage, id.ToString());
  }

  void Consumers(const State& from, const State& other, bool compared) {
    from.consumers().ForEach([&](ConsumerId id, const ConsumerPtr& consumer) {
      const ConsumerPtr found = other.FindConsumer(id);
      if (!found || (compared && !Same(*consumer, *found))) {
        Add(EntityKind::kConsumer, id.ToString());
      }
      return true;
    });
  }

  template <typename IdType>
  void Names(EntityKind kind, const NameTable<IdType>& a, const NameTable<IdType>& b) {
    for (const auto& [name, id] : a.by_name()) {
      if (b.Find(name) != id) Add(kind, name);
    }
    for (const auto& [name, id] : b.by_name()) {
      if (a.Find(name) != id) Add(kind, name);
    }
  }

  template <typename Map>
  void Records(EntityKind kind, const Map& a, const Map& b) {
    a.ForEach([&](const auto& key, const auto& record) {
      const auto* found = b.Find(key);
      if (found == nullptr || !Same(**found, *record)) Add(kind, KeyOf(*record));
      return true;
    });
    b.ForEach([&](const auto& key, const auto& record) {
      const auto* found = a.Find(key);
      // Services are looked up by host and binary, but KeyOf gives their uuid. So one service may
      // have different uuids in `a` and `b`; then both uuids are listed.
      if (found == nullptr || KeyOf(**found) != KeyOf(*record)) Add(kind, KeyOf(*record));
      return true;
    });
  }

  const State& a_;
  const State& b_;
  const absl::flat_hash_set<ClassId> classes_apart_;
  const absl::flat_hash_set<TraitId> traits_apart_;
  std::vector<EntityKey> found_;
};

}  // namespace

std::vector<EntityKey> Differences(const State& a, const State& b) {
  return Comparison(a, b).All();
}

}  // namespace berth::placement
