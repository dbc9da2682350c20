#include "placement/state/state.h"

#include <algorithm>
#include <variant>

#include "placement/ground/check.h"

namespace berth::placement {
namespace {

// Returns the step of `change`: a lower step comes first, in the order that change.h prescribes.
int StepOf(const Change& change) {
  struct Step {
    int operator()(const ClassPut&) const { return 1; }
    int operator()(const TraitPut&) const { return 1; }
    int operator()(const ProviderPut&) const { return 2; }
    int operator()(const ConsumerRemoved&) const { return 3; }
    int operator()(const ConsumerPut&) const { return 4; }
    int operator()(const ProviderUsed&) const { return 5; }
    int operator()(const ProviderRemoved&) const { return 6; }
    int operator()(const ClassRemoved&) const { return 7; }
    int operator()(const TraitRemoved&) const { return 7; }
    int operator()(const ServicePut&) const { return 8; }
    int operator()(const ServiceRemoved&) const { return 8; }
    int operator()(const NodePut&) const { return 8; }
    int operator()(const NodeRemoved&) const { return 8; }
    int operator()(const AggregatePut&) const { return 9; }
    int operator()(const AggregateRemoved&) const { return 9; }
    int operator()(const ServerGroupPut&) const { return 9; }
    int operator()(const MigrationRemoved&) const { return 10; }
    int operator()(const InstanceRemoved&) const { return 11; }
    int operator()(const InstancePut&) const { return 12; }
    int operator()(const MigrationPut&) const { return 13; }
    int operator()(const ServerGroupRemoved&) const { return 14; }
    int operator()(const FormatRaised&) const { return 15; }
  };
  return std::visit(Step{}, change);
}

template <typename Kind>
absl::Span<const Change> OnlyOf(const Changes& changes) {
  const auto is_kind = [](const Change& change) { return std::holds_alternative<Kind>(change); };
  const auto first = std::find_if(changes.begin(), changes.end(), is_kind);
  const auto last = std::find_if_not(first, changes.end(), is_kind);
  return absl::MakeConstSpan(changes).subspan(first - changes.begin(), last - first);
}

}  // namespace

void State::set_position(const Position& position) {
  position_ = position;
  const int64_t newest = epochs_->empty() ? 0 : epochs_->back().epoch;
  if (position.revision.epoch > newest) {
    const auto first = std::max<int64_t>(position.epoch_began_at, 1);
    epochs_.Own().push_back({position.revision.epoch, first});
  }
  const auto class_id = static_cast<ClassId>(position.next_class_id);
  if (catalog_->classes.NextId() < class_id) {
    catalog_.Own().classes.ReserveIds(position.next_class_id);
  }
  const auto trait_id = static_cast<TraitId>(position.next_trait_id);
  if (catalog_->traits.NextId() < trait_id) {
    catalog_.Own().traits.ReserveIds(position.next_trait_id);
  }
}

std::optional<ProviderPlace> State::FindProvider(ProviderId id) const {
  TreePtr tree = roots_.Find(RootOf(id));
  if (tree == nullptr) return std::nullopt;
  const int position = tree->Find(id);
  BERTH_CHECK(position >= 0);  // root_of_ and the trees change together
  return ProviderPlace{std::move(tree), position};
}

std::optional<ProviderId> State::FindProviderByName(absl::string_view name) const {
  const ProviderId* id = provider_names_.Find(name);
  if (id == nullptr) return std::nullopt;
  return *id;
}

TreePtr State::FindTree(ProviderId root) const { return roots_.Find(root); }

int64_t State::inventories_of(ClassId resource_class) const {
  const int64_t* uses = class_uses_.Find(resource_class);
  return uses == nullptr ? 0 : *uses;
}

int64_t State::providers_with(TraitId trait) const {
  const int64_t* uses = trait_uses_.Find(trait);
  return uses == nullptr ? 0 : *uses;
}

std::shared_ptr<const Owner> State::ShareOwner(Owner owner) const {
  const Counted<OwnerUsage>* usage = owners_.Find(owner);
  if (usage != nullptr) return (*usage)->owner;
  return std::make_shared<const Owner>(std::move(owner));
}

void State::Apply(const Changes& changes) {
  DroppedUse dropped;
  bool providers_done = false;
  bool removals_done = false;
  int step = 0;
  for (const Change& change : changes) {
    // Each rule writes its changes in this order, whatever its command says.
    BERTH_CHECK(StepOf(change) >= step);
    step = StepOf(change);
    // Applies all ProviderPuts of a command together: some of them alone might form no valid tree.
    if (std::holds_alternative<ProviderPut>(change)) {
      if (!std::exchange(providers_done, true)) {
        ReleaseNames(OnlyOf<ProviderPut>(changes), OnlyOf<ProviderRemoved>(changes));
        ApplyProviders(OnlyOf<ProviderPut>(changes), dropped);
      }
    } else if (std::holds_alternative<ProviderRemoved>(change)) {
      if (!std::exchange(removals_done, true)) {
        if (!providers_done) ReleaseNames({}, OnlyOf<ProviderRemoved>(changes));
        ApplyProvidersRemoved(OnlyOf<ProviderRemoved>(changes));
      }
    } else {
      ApplyOne(change, dropped);
    }
  }
  // An inventory that is in use is not removed: the rules refuse INVENTORY_IN_USE (P-83, P-223).
  for (const auto& [row, amount] : dropped) BERTH_CHECK(amount == 0);
}

void State::ApplyOne(const Change& change, DroppedUse& dropped) {
  const EachKind apply{
      [this](const ClassPut& put) { catalog_.Own().classes.Insert(put.id, put.name); },
      [this](const ClassRemoved& removed) {
        BERTH_CHECK(inventories_of(removed.id) == 0);  // P-38
        catalog_.Own().classes.Erase(removed.id);
      },
      [this](const TraitPut& put) { catalog_.Own().traits.Insert(put.id, put.name); },
      [this](const TraitRemoved& removed) {
        BERTH_CHECK(providers_with(removed.id) == 0);  // P-44
        catalog_.Own().traits.Erase(removed.id);
      },
      [](const ProviderPut&) { BERTH_CHECK(false); },  // Apply deals with providers itself
      [](const ProviderRemoved&) { BERTH_CHECK(false); },
      [this](const ProviderUsed& used) { ApplyUsed(used); },
      [&](const ConsumerPut& put) { PutConsumer(*put.consumer, dropped); },
      [&](const ConsumerRemoved& removed) { RemoveConsumer(removed.id, dropped); },
      [this](const ServicePut& put) { fleet_.Put(put.service); },
      [this](const ServiceRemoved& removed) {
        fleet_.RemoveService({removed.host, removed.binary});
      },
      [this](const NodePut& put) { fleet_.Put(put.node); },
      [this](const NodeRemoved& removed) { fleet_.RemoveNode(removed.id); },
      [this](const AggregatePut& put) { aggregates_.Put(put.aggregate); },
      [this](const AggregateRemoved& removed) { aggregates_.Remove(removed.id); },
      [this](const ServerGroupPut& put) { records_.Put(put.group); },
      [this](const ServerGroupRemoved& removed) { records_.Remove(removed.id); },
      [this](const InstancePut& put) { records_.Put(put.instance); },
      [this](const InstanceRemoved& removed) { records_.Remove(removed.id); },
      [this](const MigrationPut& put) { records_.Put(put.migration); },
      [this](const MigrationRemoved& removed) { records_.Remove(removed.id); },
      [this](const FormatRaised& raised) {
        BERTH_CHECK(raised.format > position_.format);
        position_.format = raised.format;
      }};
  std::visit(apply, change);
}

}  // namespace berth::placement
