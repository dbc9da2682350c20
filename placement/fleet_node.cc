#include "placement/fleet_node.h"

#include <algorithm>
#include <string>
#include <utility>

namespace berth::placement {

ServicePtr FindService(const State& state, absl::string_view host, absl::string_view binary) {
  const ServicePtr* found =
      state.services().Find(std::make_pair(std::string(host), std::string(binary)));
  return found == nullptr ? nullptr : *found;
}

NodeRecordPtr FindNode(const State& state, ProviderId id) {
  const NodeRecordPtr* found = state.nodes().Find(id);
  return found == nullptr ? nullptr : *found;
}

bool HoldsLease(const ServiceRecord& service) { return service.up && !service.forced_down; }

void FollowService(const State& state, bool disabled, std::vector<TraitId>& traits) {
  const std::optional<TraitId> trait = state.catalog().traits.Find(kDisabledTrait);
  if (!trait) return;
  const auto at = std::lower_bound(traits.begin(), traits.end(), *trait);
  const bool present = at != traits.end() && *at == *trait;
  if (disabled && !present) traits.insert(at, *trait);
  if (!disabled && present) traits.erase(at);
}

int OwningNode(const State& state, const Tree& tree, int position) {
  while (position >= 0 && FindNode(state, tree.config(position).id) == nullptr) {
    position = tree.shape->parent_of[position];
  }
  return position;
}

}  // namespace berth::placement
