#include "services/watch_snapshot.h"

#include <algorithm>
#include <utility>

#include "services/wire_catalog.h"
#include "services/wire_fleet.h"
#include "services/wire_provider.h"

namespace berth::services {

using placement::ConsumerId;
using placement::ProviderId;
using placement::Tree;

namespace {

bool HasRoom(const std::string& elements) { return elements.size() < kWatchMessageBytesMax; }

// Adds what `things` holds after the key `last`, as far as there is room; `fill` makes an entity of
// one. Returns whether that was the rest.
template <typename Map, typename Key, typename Fill>
bool AddPage(const Map& things, std::optional<Key>* last, std::string* to, Fill fill) {
  bool all = true;
  const auto add = [&](const Key& key, const auto& thing) {
    if (!HasRoom(*to)) {
      all = false;
      return false;
    }
    pb::Change change;
    fill(thing, change.mutable_present());
    to->append(WatchElement(change));
    *last = key;
    return true;
  };
  if (*last) {
    const Key after = **last;  // the walk looks at it while `last` goes on
    things.ForEachFrom(after, add);
  } else {
    things.ForEach(add);
  }
  return all;
}

// The same for names.
template <typename Id, typename Fill>
bool AddNames(const placement::NameTable<Id>& table, std::string* last, std::string* to,
              Fill fill) {
  for (auto name = table.by_name().upper_bound(*last); name != table.by_name().end(); ++name) {
    if (!HasRoom(*to)) return false;
    pb::Change change;
    fill(name->first, change.mutable_present());
    to->append(WatchElement(change));
    *last = name->first;
  }
  return true;
}

}  // namespace

WatchSnapshot::WatchSnapshot(placement::StatePtr state, const WatchFilter& filter)
    : state_(std::move(state)), filter_(filter) {}

void WatchSnapshot::ChooseTrees() {
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

WatchMessage WatchSnapshot::Next() {
  std::string elements;
  while (HasRoom(elements) && step_ != Step::kDone) {
    if (Add(&elements)) step_ = static_cast<Step>(static_cast<int>(step_) + 1);
  }
  pb::WatchResponse fields;
  SetRevision(revision(), fields.mutable_revision());
  SetTime(state_->position().ledger_time, fields.mutable_committed_at());
  fields.set_snapshot(true);
  fields.set_complete(step_ == Step::kDone);
  return std::make_shared<const std::string>(fields.SerializeAsString() + elements);
}

// Adds what there is room for of the present step. Returns whether that was the rest of it.
bool WatchSnapshot::Add(std::string* to) {
  switch (step_) {
    case Step::kChoice:
      ChooseTrees();
      return true;
    case Step::kClasses:
      return AddClasses(to);
    case Step::kTraits:
      return AddTraits(to);
    case Step::kTrees:
      return AddTrees(to);
    case Step::kConsumers:
      return AddConsumers(to);
    case Step::kServices:
      return AddServices(to);
    case Step::kNodes:
      return AddNodes(to);
    case Step::kDone:
      break;
  }
  return true;
}

bool WatchSnapshot::AddClasses(std::string* to) {
  if (!filter_.Wants(pb::ENTITY_KIND_RESOURCE_CLASS)) return true;
  return AddNames(state_->catalog().classes, &last_class_, to,
                  [](const std::string& name, pb::Entity* entity) {
                    FillClass(name, entity->mutable_resource_class());
                  });
}

bool WatchSnapshot::AddTraits(std::string* to) {
  if (!filter_.Wants(pb::ENTITY_KIND_TRAIT)) return true;
  return AddNames(state_->catalog().traits, &last_trait_, to,
                  [](const std::string& name, pb::Entity* entity) {
                    FillTrait(name, entity->mutable_trait());
                  });
}

bool WatchSnapshot::AddTrees(std::string* to) {
  while (trees_told_ < trees_.size()) {
    const Tree& tree = *trees_[trees_told_];
    for (; members_told_ < tree.size(); ++members_told_) {
      if (!HasRoom(*to)) return false;
      AddMember(tree, members_told_, to);
    }
    members_told_ = 0;
    ++trees_told_;
  }
  return true;
}

void WatchSnapshot::AddMember(const Tree& tree, int position, std::string* to) const {
  if (filter_.Wants(pb::ENTITY_KIND_PROVIDER)) {
    pb::Change change;
    FillConfig(state_->catalog(), tree.config(position), tree.root_id(), pb::PROVIDER_VIEW_FULL,
               change.mutable_present()->mutable_provider());
    to->append(WatchElement(change));
  }
  if (filter_.Wants(pb::ENTITY_KIND_PROVIDER_USAGE)) {
    pb::Change change;
    FillProviderUsage(state_->catalog(), placement::UseOf(tree, position), tree.root_id(),
                      change.mutable_present()->mutable_provider_usage());
    to->append(WatchElement(change));
  }
}

bool WatchSnapshot::AddConsumers(std::string* to) {
  if (!filter_.Wants(pb::ENTITY_KIND_CONSUMER)) return true;
  if (!filter_.by_tree()) {
    return AddPage(state_->consumers(), &last_consumer_, to,
                   [this](const placement::ConsumerPtr& consumer, pb::Entity* entity) {
                     FillHeld(state_->catalog(), *consumer, entity->mutable_consumer());
                   });
  }
  for (; consumers_told_ < consumers_.size(); ++consumers_told_) {
    if (!HasRoom(*to)) return false;
    pb::Change change;
    FillHeld(state_->catalog(), *state_->FindConsumer(consumers_[consumers_told_]),
             change.mutable_present()->mutable_consumer());
    to->append(WatchElement(change));
  }
  return true;
}

bool WatchSnapshot::AddServices(std::string* to) {
  if (!filter_.Wants(pb::ENTITY_KIND_SERVICE)) return true;
  return AddPage(state_->services(), &last_service_, to,
                 [](const ServicePtr& service, pb::Entity* entity) {
                   FillService(*service, nullptr, entity->mutable_service());
                 });
}

bool WatchSnapshot::AddNodes(std::string* to) {
  if (!filter_.Wants(pb::ENTITY_KIND_NODE)) return true;
  return AddPage(state_->nodes(), &last_node_, to, [](const NodePtr& node, pb::Entity* entity) {
    FillNodeRecord(*node, entity->mutable_node());
  });
}

}  // namespace berth::services
