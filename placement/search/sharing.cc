#include "placement/search/sharing.h"

#include <algorithm>

#include "placement/search/constraint.h"

namespace berth::placement {
Sharing::Sharing(const State& state) : trait_(state.catalog().traits.Find(kSharingTrait)) {
  if (!trait_ || state.providers_with(*trait_) == 0) return;
  for (const auto& chunk : state.roots().chunks()) {
    const RootSet& holders = chunk->marks->traits.Find(*trait_);
    if (holders.none()) continue;
    for (int at = 0; at < chunk->trees.size(); ++at) {
      if (!holders[at]) continue;
      const TreePtr& tree = chunk->trees[at];
      for (int position = 0; position < tree->size(); ++position) {
        const ProviderConfig& provider = tree->config(position);
        if (!provider.HasTrait(*trait_) || state.fleet().IsRetired(tree->root_id())) continue;
        providers_.push_back({tree, position, provider.id});
      }
    }
  }
  std::sort(providers_.begin(), providers_.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  for (int i = 0; i < static_cast<int>(providers_.size()); ++i) {
    const SharingProvider& sharing = providers_[i];
    for (AggregateId aggregate : sharing.tree->config(sharing.position).aggregates) {
      by_aggregate_[aggregate].push_back(i);
    }
  }
}

std::vector<const SharingProvider*> Sharing::Reaching(const Tree& tree) const {
  std::vector<int> found;
  for (int position = 0; position < tree.size(); ++position) {
    for (AggregateId aggregate : tree.config(position).aggregates) {
      const auto members = by_aggregate_.find(aggregate);
      if (members == by_aggregate_.end()) continue;
      found.insert(found.end(), members->second.begin(), members->second.end());
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<const SharingProvider*> reaching;
  for (int i : found) {
    if (providers_[i].tree->root_id() != tree.root_id()) reaching.push_back(&providers_[i]);
  }
  return reaching;
}

}  // namespace berth::placement
