// RootMarks: which trees of a chunk have a provider with a given trait or in a given aggregate, and
// which trees have a root with a given trait. One bit for each tree.
//
// With these marks a search excludes many trees in one operation, by the traits and aggregates that
// it requires or forbids. Marks change with configurations only, never with claims, so that the
// versions of a chunk share their marks. A value.
//
// Invariant: each row of a table marks some tree. So a trait or aggregate that no tree has costs
// nothing.
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

// The set `roots` after a tree was inserted at index `at`. The inserted tree is not in the set.
RootSet WithRoomAt(const RootSet& roots, int at);
// The set `roots` after the tree at index `at` was removed from the chunk.
RootSet Without(RootSet roots, int at);

// For each key (a trait or an aggregate): the trees of the chunk that have the key.
template <typename Key>
class MarkTable {
 public:
  // The trees that have `key`.
  const RootSet& Find(Key key) const;
  // Marks the tree at `at` as one that has `keys`, which may be in any order and more than once.
  void Add(std::vector<Key> keys, int at);
  // Removes all marks of the tree at `at`. Rows that mark no tree may be left until DropEmpty.
  void Clear(int at);
  // Drops the rows that mark no tree.
  void DropEmpty();
  // Makes room for a tree without keys at `at`; the trees at `at` and above move up by one.
  void Insert(int at);
  // Removes the tree at `at`; the trees above it move down by one.
  void Erase(int at);

 private:
  using Row = std::pair<Key, RootSet>;
  std::vector<Row> rows_;  // sorted by key
};

struct RootMarks {
  MarkTable<TraitId> traits;
  MarkTable<AggregateId> aggregates;
  // The trees that have one provider only. For such a tree `traits` tells the traits of its root.
  RootSet single;
  // The trees with an inventory of the class of which not every amount up to max_unit can be taken,
  // because of its min_unit or step_size.
  MarkTable<ClassId> coarse;
  // The trees of several providers whose root has the trait. `traits` only tells that some provider
  // of the tree has it.
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
