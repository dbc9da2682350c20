#include "placement/rules/final_forest.h"

#include <vector>

namespace berth::placement {

FinalForest::FinalForest(const State& state, const ApplyTopology& command) : state_(state) {
  for (const ProviderRemoval& removal : command.removed) removed_.insert(removal.provider);
  for (const ProviderTopology& wanted : command.providers) {
    const std::optional<ProviderPlace> place = state.FindProvider(wanted.provider);
    std::optional<ProviderId> parent;
    if (place) parent = place->config().parent;
    if (wanted.parent) parent = *wanted.parent;
    parents_[wanted.provider] = parent;
    if (parent) parents_named_.insert(*parent);
    if (wanted.name) {
      names_.emplace(*wanted.name, wanted.provider);
    } else if (place) {
      names_.emplace(place->config().name, wanted.provider);
    }
  }
  for (const ProviderTopology& wanted : command.providers) WalkUp(wanted.provider);
}

bool FinalForest::Knows(ProviderId id) const {
  return parents_.contains(id) || state_.FindProvider(id).has_value();
}

std::optional<ProviderId> FinalForest::ParentOf(ProviderId id) const {
  const auto listed = parents_.find(id);
  if (listed != parents_.end()) return listed->second;
  if (removed_.contains(id)) return std::nullopt;
  const std::optional<ProviderPlace> place = state_.FindProvider(id);
  return place ? place->config().parent : std::nullopt;
}

void FinalForest::WalkUp(ProviderId id) {
  std::vector<ProviderId> passed;
  std::optional<Way> found;
  while (true) {
    // During the walk `id` is marked as being in a loop (nullopt). If the walk comes back to `id`,
    // the mark is right.
    const auto [known, is_new] = ways_.try_emplace(id, std::nullopt);
    if (!is_new) {
      found = known->second;
      break;
    }
    passed.push_back(id);
    const std::optional<ProviderId> parent = ParentOf(id);
    if (!parent) {
      found = Way{id, -1};
      break;
    }
    id = *parent;
  }
  if (!found) return;
  for (auto at = passed.rbegin(); at != passed.rend(); ++at) {
    ++found->depth;
    ways_[*at] = found;
  }
}

std::optional<ProviderId> FinalForest::OtherHolder(absl::string_view name, ProviderId id) const {
  const auto [first, last] = names_.equal_range(std::string(name));
  for (auto at = first; at != last; ++at) {
    if (at->second != id) return at->second;
  }
  const std::optional<ProviderId> holder = state_.FindProviderByName(name);
  if (!holder || removed_.contains(*holder) || parents_.contains(*holder)) return std::nullopt;
  return holder;
}

bool FinalForest::HasChildren(const ProviderPlace& place) const {
  if (parents_named_.contains(place.config().id)) return true;
  const TreeShape& shape = *place.tree->shape;
  // Goes from child to child: skips the providers below each child.
  for (int at = place.position + 1; at < shape.end_of[place.position]; at = shape.end_of[at]) {
    const ProviderId child = shape.configs[at]->id;
    if (!parents_.contains(child) && !removed_.contains(child)) return true;
  }
  return false;
}

}  // namespace berth::placement
