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
  while (elements.size() < kWatchMessageBytesMax && step_ != Step::kDone) {
    switch (step_) {
      case Step::kNames:
        ChooseTrees();
        AddNames(&elements);
        step_ = Step::kTrees;
        break;
      case Step::kTrees:
        if (trees_told_ < trees_.size()) {
          AddTree(*trees_[trees_told_++], &elements);
        } else {
          step_ = Step::kConsumers;
        }
        break;
      case Step::kConsumers:
        AddConsumers(&elements);
        break;
      case Step::kFleet:
        AddFleet(&elements);
        step_ = Step::kDone;
        break;
      case Step::kDone:
        break;
    }
  }
  pb::WatchResponse fields;
  SetRevision(revision(), fields.mutable_revision());
  SetTime(state_->position().ledger_time, fields.mutable_committed_at());
  fields.set_snapshot(true);
  fields.set_complete(step_ == Step::kDone);
  return std::make_shared<const std::string>(fields.SerializeAsString() + elements);
}

void WatchSnapshot::AddNames(std::string* to) const {
  pb::Change change;
  for (const auto& [name, id] : state_->catalog().classes.by_name()) {
    if (!filter_.Wants(pb::ENTITY_KIND_RESOURCE_CLASS)) break;
    FillClass(name, change.mutable_present()->mutable_resource_class());
    to->append(WatchElement(change));
  }
  for (const auto& [name, id] : state_->catalog().traits.by_name()) {
    if (!filter_.Wants(pb::ENTITY_KIND_TRAIT)) break;
    FillTrait(name, change.mutable_present()->mutable_trait());
    to->append(WatchElement(change));
  }
}

void WatchSnapshot::AddTree(const Tree& tree, std::string* to) const {
  for (int i = 0; i < tree.size(); ++i) {
    if (filter_.Wants(pb::ENTITY_KIND_PROVIDER)) {
      pb::Change change;
      FillConfig(state_->catalog(), tree.config(i), tree.root_id(), pb::PROVIDER_VIEW_FULL,
                 change.mutable_present()->mutable_provider());
      to->append(WatchElement(change));
    }
    if (filter_.Wants(pb::ENTITY_KIND_PROVIDER_USAGE)) {
      pb::Change change;
      FillProviderUsage(state_->catalog(), placement::UseOf(tree, i), tree.root_id(),
                        change.mutable_present()->mutable_provider_usage());
      to->append(WatchElement(change));
    }
  }
}

// Some of them.
void WatchSnapshot::AddConsumers(std::string* to) {
  if (!filter_.Wants(pb::ENTITY_KIND_CONSUMER)) {
    step_ = Step::kFleet;
    return;
  }
  const auto has_room = [to] { return to->size() < kWatchMessageBytesMax; };
  if (filter_.by_tree()) {
    while (consumers_told_ < consumers_.size() && has_room()) {
      AddConsumer(*state_->FindConsumer(consumers_[consumers_told_++]), to);
    }
    if (consumers_told_ == consumers_.size()) step_ = Step::kFleet;
    return;
  }
  bool all = true;
  const auto add = [&](ConsumerId id, const placement::ConsumerPtr& consumer) {
    if (!has_room()) {
      all = false;
      return false;
    }
    AddConsumer(*consumer, to);
    last_consumer_ = id;
    return true;
  };
  if (last_consumer_) {
    state_->consumers().ForEachFrom(*last_consumer_, add);
  } else {
    state_->consumers().ForEach(add);
  }
  if (all) step_ = Step::kFleet;
}

void WatchSnapshot::AddConsumer(const placement::Consumer& consumer, std::string* to) const {
  pb::Change change;
  FillHeld(state_->catalog(), consumer, change.mutable_present()->mutable_consumer());
  to->append(WatchElement(change));
}

void WatchSnapshot::AddFleet(std::string* to) const {
  pb::Change change;
  if (filter_.Wants(pb::ENTITY_KIND_SERVICE)) {
    state_->services().ForEach([&](const auto&, const ServicePtr& service) {
      change.Clear();
      FillService(*service, nullptr, change.mutable_present()->mutable_service());
      to->append(WatchElement(change));
      return true;
    });
  }
  if (!filter_.Wants(pb::ENTITY_KIND_NODE)) return;
  state_->nodes().ForEach([&](ProviderId, const NodePtr& node) {
    change.Clear();
    FillNodeRecord(*node, change.mutable_present()->mutable_node());
    to->append(WatchElement(change));
    return true;
  });
}

}  // namespace berth::services
