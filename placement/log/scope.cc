#include "placement/log/scope.h"

#include <algorithm>
#include <functional>
#include <map>

#include "absl/container/flat_hash_set.h"
#include "placement/ground/check.h"

namespace berth::placement {
namespace {

template <typename T>
void SortUnique(std::vector<T>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

// Trees by their root.
using Trees = std::map<ProviderId, TreePtr>;

void AddAggregates(const Trees& trees, TreeFacts* facts) {
  for (const auto& [root, tree] : trees) {
    std::vector<AggregateId> aggregates = AggregatesOf(*tree);
    if (!aggregates.empty()) facts->aggregates.emplace_back(root, std::move(aggregates));
  }
}

// Ignores the changes of services, nodes, aggregates, server groups, instances, migrations and the
// log format.
constexpr Ignore<ServicePut, ServiceRemoved, NodePut, NodeRemoved, AggregatePut, AggregateRemoved,
                 ServerGroupPut, ServerGroupRemoved, InstancePut, InstanceRemoved, MigrationPut,
                 MigrationRemoved, FormatRaised>
    kIgnoreFleet;

// Identifies an entity that `derived` or `neighbours` can contain: a number for its kind, its uuid.
using Key = std::pair<size_t, Uuid>;
std::optional<Key> KeyOf(const Change& change) {
  std::optional<Key> key;
  const EachKind take{[&](const ProviderPut& put) { key = Key(0, put.config->id.uuid); },
                      [&](const ProviderUsed& used) { key = Key(1, used.id.uuid); },
                      [&](const ConsumerPut& put) { key = Key(2, put.consumer->id.uuid); },
                      [&](const ConsumerRemoved& removed) { key = Key(2, removed.id.uuid); },
                      Ignore<ProviderRemoved, ClassPut, ClassRemoved, TraitPut, TraitRemoved>(),
                      kIgnoreFleet};
  std::visit(take, change);
  return key;
}

// Whether the first parts of the pairs are in ascending order, without duplicates.
template <typename Pairs>
bool Rises(const Pairs& pairs) {
  const auto wrong = [](const auto& a, const auto& b) { return !(a.first < b.first); };
  return std::adjacent_find(pairs.begin(), pairs.end(), wrong) == pairs.end();
}

// Checks invariant 1 of scope.h. The maker of the scope leaves out what a list has already.
void CheckNoneTwice(const Changes& changes, const Scope& scope) {
  if (scope.derived.empty() && scope.neighbours.empty()) return;
  absl::flat_hash_set<Key> keys;
  for (const Change& change : changes) {
    if (const std::optional<Key> key = KeyOf(change)) keys.insert(*key);
  }
  for (const Changes* list : {&scope.derived, &scope.neighbours}) {
    for (const Change& change : *list) {
      const std::optional<Key> key = KeyOf(change);
      BERTH_CHECK(key && keys.insert(*key).second);
    }
  }
}

// Checks invariants 2 to 4 of scope.h. Finish sorts the lists, and clears `before` if it must.
void CheckForm(const Changes& changes, const Scope& scope) {
  BERTH_CHECK(scope.trees_changed ? scope.before != scope.after : scope.before == TreeFacts());
  for (const TreeFacts* facts : {&scope.before, &scope.after}) {
    BERTH_CHECK(Rises(facts->roots) && Rises(facts->aggregates));
  }
  BERTH_CHECK(Rises(scope.gave_up) && Rises(scope.nodes));
  const auto not_after = [](const HostNews& a, const HostNews& b) { return !(a.host < b.host); };
  const auto& hosts = scope.other_hosts;
  BERTH_CHECK(std::adjacent_find(hosts.begin(), hosts.end(), not_after) == hosts.end());
  const auto& renewed = scope.renewed;
  BERTH_CHECK(std::adjacent_find(renewed.begin(), renewed.end(), std::greater_equal<>()) ==
              renewed.end());
  size_t removed = 0;
  const EachKind count{[&](const ClassRemoved&) { ++removed; },
                       [&](const TraitRemoved&) { ++removed; },
                       [&](const ServiceRemoved&) { ++removed; },
                       Ignore<ProviderPut, ProviderRemoved, ProviderUsed, ConsumerPut>(),
                       Ignore<ConsumerRemoved, ClassPut, TraitPut, ServicePut>(),
                       Ignore<NodePut, NodeRemoved, FormatRaised>(),
                       Ignore<AggregatePut, AggregateRemoved>(),
                       Ignore<ServerGroupPut, ServerGroupRemoved>(),
                       Ignore<InstancePut, InstanceRemoved, MigrationPut, MigrationRemoved>()};
  for (const Change& change : changes) std::visit(count, change);
  BERTH_CHECK(scope.removed_keys.size() == removed);  // the constructor adds one for each
}

bool SameClasses(const ProviderConfig& a, const ProviderConfig& b) {
  return std::equal(a.inventories.begin(), a.inventories.end(), b.inventories.begin(),
                    b.inventories.end(), [](const InventoryRow& x, const InventoryRow& y) {
                      return x.resource_class == y.resource_class;
                    });
}

// Whether the consumer has a row on the provider. Its rows are sorted by provider.
bool Holds(const Consumer& consumer, ProviderId provider) {
  const auto row = std::lower_bound(
      consumer.allocations.begin(), consumer.allocations.end(), provider,
      [](const Allocation& each, ProviderId wanted) { return each.provider < wanted; });
  return row != consumer.allocations.end() && row->provider == provider;
}

}  // namespace

std::vector<AggregateId> AggregatesOf(const Tree& tree) {
  if (tree.size() == 1) return tree.config(0).aggregates;
  std::vector<AggregateId> all;
  for (const auto& config : tree.shape->configs) {
    all.insert(all.end(), config->aggregates.begin(), config->aggregates.end());
  }
  SortUnique(&all);
  return all;
}

ProviderUsed UseOf(const Tree& tree, int position) {
  const ProviderConfig& config = tree.config(position);
  ProviderUsed used{config.id, tree.allocation_generations[position], {}};
  for (size_t row = 0; row < config.inventories.size(); ++row) {
    used.used.push_back(
        {config.inventories[row].resource_class, tree.used_of(position, static_cast<int>(row))});
  }
  return used;
}

ProviderId TreeFacts::RootOf(ProviderId provider) const {
  const auto found =
      std::lower_bound(roots.begin(), roots.end(), provider,
                       [](const auto& entry, ProviderId wanted) { return entry.first < wanted; });
  return found != roots.end() && found->first == provider ? found->second : provider;
}

const std::vector<AggregateId>* TreeFacts::AggregatesOf(ProviderId root) const {
  const auto found =
      std::lower_bound(aggregates.begin(), aggregates.end(), root,
                       [](const auto& entry, ProviderId wanted) { return entry.first < wanted; });
  return found != aggregates.end() && found->first == root ? &found->second : nullptr;
}

bool Scope::empty() const {
  return !trees_changed && after == TreeFacts() && gave_up.empty() && derived.empty() &&
         neighbours.empty() && removed_keys.empty() && other_hosts.empty() && nodes.empty() &&
         renewed.empty();
}

ProviderId Scope::NodeOf(ProviderId provider) const {
  const auto found =
      std::lower_bound(nodes.begin(), nodes.end(), provider,
                       [](const auto& entry, ProviderId wanted) { return entry.first < wanted; });
  const bool is_listed = found != nodes.end() && found->first == provider;
  return is_listed ? found->second : after.RootOf(provider);
}

ScopeMaker::ScopeMaker(const State& before, const Changes& changes) : changes_(changes) {
  int32_t at = 0;
  for (const Change& change : changes) Take(before, change, at++);
  GroupHosts();
}

void ScopeMaker::Take(const State& before, const Change& change, int32_t at) {
  const EachKind take{
      [&](const ProviderPut& put) {
        puts_providers_ = true;
        TakeProvider(before, put.config->id);
        if (put.config->parent) TakeTree(before, *put.config->parent);
      },
      [&](const ProviderRemoved& removed) { TakeProvider(before, removed.id); },
      [&](const ProviderUsed& used) { named_.push_back(used.id); },
      [&](const ConsumerPut& put) { TakeConsumer(before, put.consumer, put.consumer->id); },
      [&](const ConsumerRemoved& removed) { TakeConsumer(before, nullptr, removed.id); },
      [&](const ClassRemoved& removed) {
        scope_.removed_keys.push_back(before.catalog().classes.NameOf(removed.id));
      },
      [&](const TraitRemoved& removed) {
        scope_.removed_keys.push_back(before.catalog().traits.NameOf(removed.id));
      },
      [&](const ServiceRemoved& removed) {
        const auto* record = before.services().Find(std::pair(removed.host, removed.binary));
        scope_.removed_keys.push_back(record == nullptr ? "" : (*record)->id.ToString());
      },
      [&](const NodePut& put) { TakeNode(before, put.node->id, &put.node->host, at); },
      [&](const NodeRemoved& removed) { TakeNode(before, removed.id, nullptr, at); },
      [&](const InstancePut& put) {
        TakeInstance(before.records(), put.instance->id, put.instance, at);
      },
      [&](const InstanceRemoved& gone) { TakeInstance(before.records(), gone.id, nullptr, at); },
      [&](const MigrationPut& put) { TakeMigration(before.records(), put.migration->id, at); },
      [&](const MigrationRemoved& removed) { TakeMigration(before.records(), removed.id, at); },
      Ignore<ClassPut, TraitPut, ServicePut, AggregatePut, AggregateRemoved, ServerGroupPut,
             ServerGroupRemoved, FormatRaised>()};
  std::visit(take, change);
}

void ScopeMaker::TakeNode(const State& before, ProviderId id, const std::string* host_after,
                          int32_t at) {
  named_.push_back(id);
  membership_.TakeBefore(before, id);
  const NodeRecordPtr* node = before.nodes().Find(id);
  if (node != nullptr && host_after != nullptr && (*node)->host == *host_after) return;
  if (node != nullptr) others_.emplace_back((*node)->host, at);
  const bool is_there = node != nullptr || before.FindProvider(id).has_value();
  if (host_after != nullptr && is_there) scope_.renewed.push_back(id);
}

void ScopeMaker::TakeInstance(const Records& before, InstanceId id, const InstancePtr& after,
                              int32_t at) {
  const InstancePtr instance = before.FindInstance(id);
  if (instance == nullptr) return;
  const bool leaves = after == nullptr || after->host != instance->host;
  if (leaves && !instance->host.empty()) others_.emplace_back(instance->host, at);
  // The finished migrations of an instance that stays are not read: there may be any number.
  for (const MigrationPtr& migration :
       after == nullptr ? before.MigrationsOf(id) : before.MovesOf(id)) {
    AddHosts(*migration, at);
  }
}

void ScopeMaker::TakeMigration(const Records& before, MigrationId id, int32_t at) {
  const MigrationPtr migration = before.FindMigration(id);
  if (migration != nullptr) AddHosts(*migration, at);
}

void ScopeMaker::AddHosts(const MigrationRecord& migration, int32_t at) {
  others_.emplace_back(migration.source_host, at);
  if (!migration.destination_host.empty()) others_.emplace_back(migration.destination_host, at);
}

void ScopeMaker::GroupHosts() {
  SortUnique(&others_);
  for (auto& [host, at] : others_) {
    std::vector<HostNews>& hosts = scope_.other_hosts;
    if (hosts.empty() || hosts.back().host != host) hosts.push_back({std::move(host), {}});
    hosts.back().changes.push_back(at);
  }
}

void ScopeMaker::TakeProvider(const State& before, ProviderId provider) {
  membership_.TakeBefore(before, provider);
  TakeTree(before, provider);
}

void ScopeMaker::TakeTree(const State& before, ProviderId provider) {
  named_.push_back(provider);
  if (TreeBefore(provider) != nullptr) return;
  const auto place = before.FindProvider(provider);
  if (!place) return;
  trees_before_.push_back(place->tree);
  for (const auto& config : place->tree->shape->configs) {
    members_before_.emplace(config->id, place->tree.get());
  }
  named_.push_back(place->tree->root_id());
}

void ScopeMaker::TakeConsumer(const State& before, const ConsumerPtr& after, ConsumerId id) {
  if (after != nullptr) {
    for (const Allocation& allocation : after->allocations) named_.push_back(allocation.provider);
  }
  const PackedConsumer* const held = before.consumers().FindPacked(id);
  if (held == nullptr) return;
  std::vector<ProviderId> gave_up;
  for (const Allocation& allocation : held->allocations()) {
    const ProviderId provider = allocation.provider;
    if (after != nullptr && Holds(*after, provider)) continue;
    if (gave_up.empty() || gave_up.back() != provider) gave_up.push_back(provider);
  }
  if (gave_up.empty()) return;
  named_.insert(named_.end(), gave_up.begin(), gave_up.end());
  scope_.gave_up.emplace_back(id, std::move(gave_up));
}

Scope ScopeMaker::Finish(const State& after) && {
  if (puts_providers_ || !trees_before_.empty()) Compare(after);
  SortUnique(&named_);
  std::sort(scope_.gave_up.begin(), scope_.gave_up.end());
  Trees before_trees;  // includes the trees that did not change
  Trees after_trees;
  for (const TreePtr& tree : trees_before_) before_trees.emplace(tree->root_id(), tree);
  for (const ProviderId provider : named_) {
    const auto place = after.FindProvider(provider);
    const Tree* before = TreeBefore(provider);
    if (place) {
      if (place->tree->root_id() != provider) {
        scope_.after.roots.emplace_back(provider, place->tree->root_id());
      }
      after_trees.emplace(place->tree->root_id(), place->tree);
      if (before == nullptr) before = place->tree.get();
    }
    const std::optional<ProviderId> node = NodeToName(after, provider, place);
    if (node) scope_.nodes.emplace_back(provider, *node);
    if (before != nullptr && before->root_id() != provider) {
      scope_.before.roots.emplace_back(provider, before->root_id());
    }
  }
  for (const ProviderId node : membership_.Regrouped(after)) scope_.renewed.push_back(node);
  SortUnique(&scope_.renewed);
  before_trees.insert(after_trees.begin(), after_trees.end());
  AddAggregates(after_trees, &scope_.after);
  AddAggregates(before_trees, &scope_.before);
  scope_.trees_changed = !trees_before_.empty() && scope_.before != scope_.after;
  if (!scope_.trees_changed) scope_.before = {};
  CheckNoneTwice(changes_, scope_);
  CheckForm(changes_, scope_);
  return std::move(scope_);
}

// The tree of `provider` before the command, if it is in trees_before_; else null.
const Tree* ScopeMaker::TreeBefore(ProviderId provider) const {
  const auto found = members_before_.find(provider);
  return found == members_before_.end() ? nullptr : found->second;
}

std::optional<ProviderId> ScopeMaker::NodeToName(const State& after, ProviderId provider,
                                                 const std::optional<ProviderPlace>& place) {
  const bool is_direct =
      direct_.empty() || std::binary_search(direct_.begin(), direct_.end(), provider);
  return is_direct ? membership_.BelowRoot(after, provider, place) : std::nullopt;
}

// Fills derived and neighbours. They get the members of the trees that the command changed, and the
// consumers of these members, except for the entities that the changes name.
void ScopeMaker::Compare(const State& after) {
  SortUnique(&named_);
  direct_ = named_;
  ProviderIds put;
  ProviderIds used;
  absl::flat_hash_set<ConsumerId> told;
  const EachKind note{[&](const ProviderPut& one) { put.insert(one.config->id); },
                      [&](const ProviderUsed& one) { used.insert(one.id); },
                      [&](const ConsumerPut& one) { told.insert(one.consumer->id); },
                      [&](const ConsumerRemoved& one) { told.insert(one.id); },
                      Ignore<ProviderRemoved, ClassPut, ClassRemoved, TraitPut, TraitRemoved>(),
                      kIgnoreFleet};
  for (const Change& change : changes_) std::visit(note, change);
  for (const ProviderId id : put) {
    if (used.contains(id) || TreeBefore(id) != nullptr) continue;
    const auto place = after.FindProvider(id);
    // The provider is among the changes that made this state.
    BERTH_CHECK(place.has_value());
    scope_.derived.push_back(UseOf(*place->tree, place->position));
  }
  for (const TreePtr& tree : trees_before_) CompareTree(*tree, after, put, used, &told);
}

void ScopeMaker::CompareTree(const Tree& tree, const State& after, const ProviderIds& put,
                             const ProviderIds& used, absl::flat_hash_set<ConsumerId>* told) {
  const std::vector<AggregateId> aggregates = AggregatesOf(tree);
  TreePtr last;  // the tree of the previous member: most members are in the same tree
  bool aggregates_differ = false;
  for (int i = 0; i < tree.size(); ++i) {
    const ProviderId id = tree.config(i).id;
    const auto place = after.FindProvider(id);
    if (!place) continue;
    const bool moved = place->tree->root_id() != tree.root_id();
    if (place->tree != last) {
      last = place->tree;
      aggregates_differ = AggregatesOf(*last) != aggregates;
    }
    const bool elsewhere = moved || aggregates_differ;
    const bool use_differs = moved || !SameClasses(tree.config(i), place->config());
    if (elsewhere && !put.contains(id)) {
      Add(ProviderPut{place->tree->shape->configs[place->position]}, moved);
    }
    if ((elsewhere || use_differs) && !used.contains(id)) {
      Add(UseOf(*place->tree, place->position), use_differs);
    }
    if (!elsewhere) continue;
    tree.consumers[i].ForEach([&](ConsumerId consumer, const auto&) {
      if (!told->insert(consumer).second) return true;
      const ConsumerPtr record = after.FindConsumer(consumer);
      if (record != nullptr) Add(ConsumerPut{record}, false);
      return true;
    });
  }
}

void ScopeMaker::Add(Change change, bool differs) {
  const EachKind name{
      [&](const ProviderPut& put) { named_.push_back(put.config->id); },
      [&](const ProviderUsed& used) { named_.push_back(used.id); },
      [&](const ConsumerPut& put) {
        for (const Allocation& row : put.consumer->allocations) named_.push_back(row.provider);
      },
      // Compare makes no changes of these kinds, so none of them gets here.
      Ignore<ProviderRemoved, ConsumerRemoved, ClassPut, ClassRemoved, TraitPut, TraitRemoved>(),
      kIgnoreFleet};
  std::visit(name, change);
  (differs ? scope_.derived : scope_.neighbours).push_back(std::move(change));
}

}  // namespace berth::placement
