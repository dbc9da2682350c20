#include "placement/log/membership.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"

namespace berth::placement {

ProviderId Membership::Finder::NodeOf(const State& state, const ProviderPlace& place) {
  const Tree& tree = *place.tree;
  ProviderId node = tree.root_id();
  absl::InlinedVector<ProviderId, 4> passed;
  for (int p = place.position; p > 0; p = tree.shape->parent_of[p]) {
    const ProviderId id = tree.config(p).id;
    if (const auto known = known_.find(id); known != known_.end()) {
      node = known->second;
      break;
    }
    if (state.nodes().Find(id) != nullptr) {
      node = id;
      break;
    }
    passed.push_back(id);
  }
  // A child of the root is found as quickly without being noted.
  if (passed.size() > 1) {
    for (const ProviderId id : passed) known_.emplace(id, node);
  }
  return node;
}

void Membership::TakeBefore(const State& before, ProviderId provider) {
  const std::optional<ProviderPlace> place = before.FindProvider(provider);
  if (place) before_.try_emplace(provider, finder_before_.NodeOf(before, *place));
}

std::optional<ProviderId> Membership::BelowRoot(const State& after, ProviderId provider,
                                                const std::optional<ProviderPlace>& place) {
  if (place) {
    const ProviderId node = finder_after_.NodeOf(after, *place);
    return node == place->tree->root_id() ? std::nullopt : std::make_optional(node);
  }
  const auto before = before_.find(provider);
  // A provider that belonged to itself was a root, or the root of a node.
  if (before == before_.end() || before->second == provider) return std::nullopt;
  return before->second;
}

std::vector<ProviderId> Membership::Regrouped(const State& after) {
  std::vector<ProviderId> nodes;
  for (const auto& [provider, before] : before_) {
    const std::optional<ProviderPlace> place = after.FindProvider(provider);
    if (!place) continue;
    const ProviderId now = finder_after_.NodeOf(after, *place);
    if (now == before) continue;
    nodes.push_back(before);
    nodes.push_back(now);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace berth::placement
