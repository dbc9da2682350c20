// The providers of a node: the subtree below the node's root provider. Pure functions.
#ifndef BERTH_SERVICES_REPORT_SUBTREE_H_
#define BERTH_SERVICES_REPORT_SUBTREE_H_

#include "placement/state/state.h"

namespace berth::services {

// Calls `visit` with each provider of the subtree of `node`, parents before children.
template <typename Visit>
void ForSubtree(const placement::State& state, placement::ProviderId node, Visit visit) {
  const auto root = state.FindProvider(node);
  if (!root) return;
  for (int p = root->position; p < root->tree->shape->end_of[root->position]; ++p) {
    visit(placement::ProviderPlace{root->tree, p});
  }
}

inline bool IsInSubtree(const placement::State& state, placement::ProviderId node,
                        placement::ProviderId id) {
  const auto root = state.FindProvider(node);
  if (!root) return false;
  const int position = root->tree->Find(id);
  return position >= 0 && root->tree->IsAncestorOrSelf(root->position, position);
}

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_SUBTREE_H_
