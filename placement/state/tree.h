// Tree: a root provider with all providers below it. Immutable.
//
// A tree has two parts. The shape (parents and configurations) is shared by all versions of the
// tree until a configuration changes. Use, consumers and allocation generations are copied with
// each claim. A provider is addressed by its position. A tree of one provider, like that of most
// hosts, takes two blocks of memory, because its vectors are inlined.
//
// Invariants:
//   1. Position 0 is the root. The position of every provider is greater than its parent's. The
//      positions of a subtree are consecutive.
//   2. Siblings are in order of their ids, so that equal trees are equal vectors.
//   3. parent_of[i] < i for i > 0, and the subtree of i is [i, end_of[i]).
//   4. used[first_row[i] + r] belongs to row r of configs[i]->inventories.
//   5. root is the id of configs[0].
#ifndef BERTH_PLACEMENT_STATE_TREE_H_
#define BERTH_PLACEMENT_STATE_TREE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/container/inlined_vector.h"
#include "placement/state/counted.h"
#include "placement/state/persistent_map.h"
#include "placement/values/provider.h"

namespace berth::placement {

using ConsumerSet = PersistentMap<ConsumerId, std::monostate>;

struct TreeShape {
  absl::InlinedVector<std::shared_ptr<const ProviderConfig>, 1> configs;
  absl::InlinedVector<int32_t, 4> parent_of;  // -1 for the root
  absl::InlinedVector<int32_t, 4> end_of;
  absl::InlinedVector<int32_t, 4>
      first_row;  // by position; one more entry at the end is the number of rows
  absl::InlinedVector<std::pair<ProviderId, int32_t>, 1> by_id;  // sorted
};

// What a search needs of every tree is here, so that it need not look at the shape.
struct Tree {
  std::shared_ptr<const TreeShape> shape;
  ProviderId root;
  absl::InlinedVector<Amount, 3> used;
  absl::InlinedVector<Generation, 1> allocation_generations;  // by position
  // By position: the consumers that hold something on the provider.
  absl::InlinedVector<ConsumerSet, 1> consumers;

  int size() const { return static_cast<int>(allocation_generations.size()); }
  // The compiler does not inline it by itself everywhere, and a search calls it for every tree.
  ABSL_ATTRIBUTE_ALWAYS_INLINE const ProviderConfig& config(int position) const {
    return *shape->configs[position];
  }
  Amount used_of(int position, int row) const { return used[shape->first_row[position] + row]; }
  ProviderId root_id() const { return root; }
  // The position of `id`, or -1.
  int Find(ProviderId id) const;
  // Whether the provider at `ancestor` is the provider at `position` or above it.
  bool IsAncestorOrSelf(int ancestor, int position) const {
    return ancestor <= position && position < shape->end_of[ancestor];
  }
};

using TreePtr = Counted<Tree>;

// A provider outside of a tree, while trees are rebuilt.
struct Provider {
  std::shared_ptr<const ProviderConfig> config;
  Generation allocation_generation;
  std::vector<Amount> used;  // parallel to config->inventories
  ConsumerSet consumers;
};

// The tree of `providers`, which may be in any order. REQUIRES: `providers` form one tree, so
// exactly one of them has no parent among them; the use of each provider is parallel to its
// inventories.
TreePtr MakeTree(std::vector<Provider> providers);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_TREE_H_
