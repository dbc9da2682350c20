// NodeProviders: the providers that belong to a node. The node's tracker is told about them.
//
// They are what is at and below the provider of the node, down to the next provider that has the
// record of a node: that and what is below it belongs to another node. Refers to the state, which
// must outlive it. Not thread-safe.
#ifndef BERTH_PLACEMENT_COMMANDS_NODE_PROVIDERS_H_
#define BERTH_PLACEMENT_COMMANDS_NODE_PROVIDERS_H_

#include <optional>
#include <vector>

#include "placement/state/state.h"

namespace berth::placement {

class NodeProviders {
 public:
  NodeProviders(const State& state, ProviderId node)
      : state_(state), node_(node), root_(state.FindProvider(node)) {}

  // Calls `visit` with the place of each provider, parents before children. Looks at no provider of
  // another node but the roots of the nodes below.
  template <typename Visit>
  void ForEach(Visit visit) const {
    if (!root_) return;
    const TreeShape& shape = *root_->tree->shape;
    int next = 0;
    for (int p = root_->position; p < shape.end_of[root_->position]; p = next) {
      const bool is_other = p != root_->position && IsNode(p);
      next = is_other ? shape.end_of[p] : p + 1;
      if (!is_other) visit(ProviderPlace{root_->tree, p});
    }
  }

  // Whether the provider exists and belongs to the node. The first call for a provider below the
  // node's root looks at all providers of the node, and later calls at none.
  bool Contains(ProviderId id) {
    if (id == node_) return root_.has_value();
    const int position = root_ ? root_->tree->Find(id) : -1;
    if (position < 0 || !root_->tree->IsAncestorOrSelf(root_->position, position)) return false;
    if (own_.empty()) FindOwn();
    return own_[position - root_->position];
  }

 private:
  bool IsNode(int position) const {
    return state_.nodes().Find(root_->tree->config(position).id) != nullptr;
  }
  void FindOwn() {
    own_.resize(root_->tree->shape->end_of[root_->position] - root_->position);
    ForEach([this](const ProviderPlace& place) { own_[place.position - root_->position] = true; });
  }

  const State& state_;
  const ProviderId node_;
  const std::optional<ProviderPlace> root_;  // none: the node has no provider
  std::vector<bool> own_;  // by position from the root's on; empty before it is needed
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_NODE_PROVIDERS_H_
