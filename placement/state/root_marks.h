// RootMarks: which trees of a chunk have a trait, or stand in an aggregate, with any of their
// providers, and which with their root: one bit a tree.
//
// By what a search requires or forbids, many trees are passed over at once. Moves with configurations only,
// never with claims, so that the chunk shares it between its versions. A value.
#ifndef BERTH_PLACEMENT_STATE_ROOT_MARKS_H_
#define BERTH_PLACEMENT_STATE_ROOT_MARKS_H_

#include <bitset>
#include <utility>
#include <vector>

#include "placement/state/tree.h"
#include "placement/values/types.h"

namespace berth::placement {

inline constexpr int kChunkRootsMax = 256;
using RootSet = std::bitset<kChunkRootsMax>;  // trees of a chunk, by index

// Keys with the trees that have them.
template <typename Key>
class MarkTable {
 public:
  // The trees that have `key`.
  const RootSet& Find(Key key) const;
  void Add(Key key, int at);
  // The tree at `at` has nothing any more.
  void Clear(int at);
  // Makes room for a tree at `at`, which has nothing yet; those from there on move up by one.
  void Insert(int at);
  // Takes the tree at `at` out; those behind it move down by one.
  void Erase(int at);

 private:
  std::vector<std::pair<Key, RootSet>> rows_;  // rising by key
};

struct RootMarks {
  MarkTable<TraitId> traits;
  MarkTable<AggregateId> aggregates;
  // The trees of one provider: what such a tree has, its root and all of it has.
  RootSet single;
  // Of the others, those whose root itself has the trait.
  MarkTable<TraitId> root_traits;

  // The trees whose root has the trait.
  RootSet RootsWith(TraitId trait) const {
    return (traits.Find(trait) & single) | root_traits.Find(trait);
  }

  void Insert(int at, const Tree& tree);
  void Replace(int at, const Tree& tree);
  void Erase(int at);

 private:
  void Add(int at, const Tree& tree);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_ROOT_MARKS_H_
