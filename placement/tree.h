// Tree: one root with its subtree, immutable.
//
// Invariants:
//   1. providers[0] is the root; every provider stands after its parent; the providers of a subtree
//   stand side by side.
//   2. Siblings stand by rising id, so that equal trees are equal vectors.
//   3. parent_of[i] < i for i > 0, and the subtree of i is [i, end_of[i]).
#ifndef BERTH_PLACEMENT_TREE_H_
#define BERTH_PLACEMENT_TREE_H_

#include <memory>
#include <vector>

#include "placement/provider.h"

namespace berth::placement {

struct Tree {
  std::vector<Provider> providers;
  std::vector<int32_t> parent_of;  // -1 for the root
  std::vector<int32_t> end_of;

  ProviderId root_id() const { return providers.front().config->id; }
  // Position of `id`, or -1. Trees are small; this looks at each.
  int Find(ProviderId id) const;
  // Whether provider `ancestor` is `position` itself or above it.
  bool IsAncestorOrSelf(int ancestor, int position) const {
    return ancestor <= position && position < end_of[ancestor];
  }
};

using TreePtr = std::shared_ptr<const Tree>;

// The tree of `providers` in any order. REQUIRES: exactly one has no parent among them; they form
// one tree.
TreePtr MakeTree(std::vector<Provider> providers);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_TREE_H_
