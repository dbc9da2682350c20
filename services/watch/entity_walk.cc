#include "services/watch/entity_walk.h"

#include <algorithm>

#include "services/watch/messages.h"
#include "services/wire/catalog.h"
#include "services/wire/fleet.h"
#include "services/wire/instance.h"
#include "services/wire/provider.h"

namespace berth::services {

using placement::ConsumerId;
using placement::EntityKind;
using placement::ProviderId;
using placement::Tree;

namespace {

// Fills a message with each name of `table` that comes after `last`, and sets `last` to the last of
// these names. Returns false if `next` returned null.
template <typename IdType, typename Fill>
bool TellNames(const placement::NameTable<IdType>& table, bool custom_only,
               absl::FunctionRef<pb::Entity*()> next, std::optional<std::string>* last, Fill fill) {
  const auto& names = table.by_name();
  for (auto at = *last ? names.upper_bound(**last) : names.begin(); at != names.end(); ++at) {
    if (!custom_only || !placement::IsStandardName(at->first)) {
      pb::Entity* const entity = next();
      if (entity == nullptr) return false;
      fill(at->first, entity);
    }
    *last = at->first;
  }
  return true;
}

// Like TellNames, for the entries of `map`: fills one message for each entry after `last`.
template <typename Map, typename Key, typename Fill>
bool TellEntries(const Map& map, absl::FunctionRef<pb::Entity*()> next, std::optional<Key>* last,
                 Fill fill) {
  bool all = true;
  const auto tell = [&](const Key& key, const auto& value) {
    pb::Entity* const entity = next();
    all = entity != nullptr;
    if (!all) return false;
    fill(*value, entity);
    *last = key;
    return true;
  };
  if (*last) {
    const Key after = **last;
    map.ForEachFrom(after, tell);
  } else {
    map.ForEach(tell);
  }
  return all;
}

}  // namespace

EntityWalk::EntityWalk(placement::StatePtr state, const WatchFilter& filter, Content content)
    : state_(std::move(state)), filter_(filter), content_(content) {}

void EntityWalk::Fill(Next next) {
  while (!done() && TellKind(static_cast<EntityKind>(step_), next)) ++step_;
}

bool EntityWalk::TellKind(EntityKind kind, Next next) {
  switch (kind) {
    case EntityKind::kResourceClass:
      return TellClasses(next);
    case EntityKind::kTrait:
      return TellTraits(next);
    case EntityKind::kProvider:
      return TellTrees(next);
    case EntityKind::kProviderUsage:
      return true;  // filled in together with its provider
    case EntityKind::kConsumer:
      return TellConsumers(next);
    case EntityKind::kService:
      return TellServices(next);
    case EntityKind::kNode:
      return TellNodes(next);
    case EntityKind::kAggregate:
      return TellAggregates(next);
    case EntityKind::kServerGroup:
      return TellServerGroups(next);
    case EntityKind::kInstance:
      return TellInstances(next);
    case EntityKind::kMigration:
      return TellMigrations(next);
  }
  return true;
}

bool EntityWalk::TellClasses(Next next) {
  if (!filter_.Wants(pb::ENTITY_KIND_RESOURCE_CLASS)) return true;
  return TellNames(state_->catalog().classes, content_ == Content::kExport, next, &last_class_,
                   [](const std::string& name, pb::Entity* to) {
                     FillClass(name, to->mutable_resource_class());
                   });
}

bool EntityWalk::TellTraits(Next next) {
  if (!filter_.Wants(pb::ENTITY_KIND_TRAIT)) return true;
  return TellNames(
      state_->catalog().traits, content_ == Content::kExport, next, &last_trait_,
      [](const std::string& name, pb::Entity* to) { FillTrait(name, to->mutable_trait()); });
}

void EntityWalk::ChooseTrees() {
  const auto consider = [&](const placement::TreePtr& tree) {
    if (tree == nullptr) return;
    TreePlace place{tree->root_id(), {}};
    if (!filter_.aggregates().empty()) place.aggregates = placement::AggregatesOf(*tree);
    if (filter_.Passes(place)) trees_.push_back(tree);
  };
  if (!filter_.roots().empty()) {
    for (const ProviderId root : filter_.roots()) consider(state_->FindTree(root));
  } else {
    for (const auto& chunk : state_->roots().chunks()) {
      for (int t = 0; t < chunk->trees.size(); ++t) consider(chunk->trees[t]);
    }
  }
  if (!filter_.by_tree()) return;
  for (const placement::TreePtr& tree : trees_) {
    for (const placement::ConsumerSet& held_by : tree->consumers) {
      held_by.ForEach([this](ConsumerId id, const auto&) {
        consumers_.push_back(id);
        return true;
      });
    }
  }
  std::sort(consumers_.begin(), consumers_.end());
  consumers_.erase(std::unique(consumers_.begin(), consumers_.end()), consumers_.end());
}

bool EntityWalk::TellTrees(Next next) {
  if (!trees_chosen_) ChooseTrees();
  trees_chosen_ = true;
  for (; tree_ < trees_.size(); ++tree_) {
    const Tree& tree = *trees_[tree_];
    for (; position_ < tree.size(); ++position_) {
      if (!TellProvider(tree, next)) return false;
    }
    position_ = 0;
  }
  return true;
}

// Fills one message with the provider at position_ of `tree`, and one with the provider's usage.
bool EntityWalk::TellProvider(const Tree& tree, Next next) {
  if (filter_.Wants(pb::ENTITY_KIND_PROVIDER) && !config_told_) {
    pb::Entity* const entity = next();
    if (entity == nullptr) return false;
    FillConfig(state_->catalog(), tree.config(position_), tree.root_id(), pb::PROVIDER_VIEW_FULL,
               entity->mutable_provider());
    config_told_ = true;
  }
  if (content_ == Content::kAll && filter_.Wants(pb::ENTITY_KIND_PROVIDER_USAGE)) {
    pb::Entity* const entity = next();
    if (entity == nullptr) return false;
    FillProviderUsage(state_->catalog(), placement::UseOf(tree, position_), tree.root_id(),
                      entity->mutable_provider_usage());
  }
  config_told_ = false;
  return true;
}

bool EntityWalk::TellConsumers(Next next) {
  if (!filter_.Wants(pb::ENTITY_KIND_CONSUMER)) return true;
  if (filter_.by_tree()) return TellHolders(next);
  return TellEntries(state_->consumers(), next, &last_consumer_,
                     [this](const placement::Consumer& consumer, pb::Entity* to) {
                       FillHeld(state_->catalog(), consumer, to->mutable_consumer());
                     });
}

// Fills one message with each consumer that holds something in a tree that passes the filter.
bool EntityWalk::TellHolders(Next next) {
  for (; consumers_told_ < consumers_.size(); ++consumers_told_) {
    pb::Entity* const entity = next();
    if (entity == nullptr) return false;
    FillHeld(state_->catalog(), *state_->FindConsumer(consumers_[consumers_told_]),
             entity->mutable_consumer());
  }
  return true;
}

bool EntityWalk::TellServices(Next next) {
  if (!filter_.Wants(pb::ENTITY_KIND_SERVICE)) return true;
  return TellEntries(state_->services(), next, &last_service_,
                     [](const placement::ServiceRecord& service, pb::Entity* to) {
                       FillService(service, nullptr, to->mutable_service());
                     });
}

bool EntityWalk::TellNodes(Next next) {
  if (!filter_.Wants(pb::ENTITY_KIND_NODE)) return true;
  return TellEntries(state_->nodes(), next, &last_node_,
                     [](const placement::NodeRecord& node, pb::Entity* to) {
                       FillNodeRecord(node, to->mutable_node());
                     });
}

bool EntityWalk::TellAggregates(Next next) {
  if (!filter_.Wants(pb::ENTITY_KIND_AGGREGATE)) return true;
  return TellEntries(state_->aggregates().by_id(), next, &last_aggregate_,
                     [](const placement::Aggregate& aggregate, pb::Entity* to) {
                       FillAggregate(aggregate, to->mutable_aggregate());
                     });
}

bool EntityWalk::TellServerGroups(Next next) {
  if (!filter_.Wants(pb::ENTITY_KIND_SERVER_GROUP)) return true;
  return TellEntries(state_->records().groups(), next, &last_group_,
                     [](const placement::ServerGroup& group, pb::Entity* to) {
                       FillServerGroup(group, to->mutable_server_group());
                     });
}

bool EntityWalk::TellInstances(Next next) {
  if (!filter_.Wants(pb::ENTITY_KIND_INSTANCE)) return true;
  return TellEntries(state_->records().instances(), next, &last_instance_,
                     [](const placement::InstanceRecord& instance, pb::Entity* to) {
                       FillInstance(instance, to->mutable_instance());
                     });
}

bool EntityWalk::TellMigrations(Next next) {
  if (!filter_.Wants(pb::ENTITY_KIND_MIGRATION)) return true;
  return TellEntries(state_->records().migrations(), next, &last_migration_,
                     [](const placement::MigrationRecord& migration, pb::Entity* to) {
                       FillMigration(migration, to->mutable_migration());
                     });
}

}  // namespace berth::services
