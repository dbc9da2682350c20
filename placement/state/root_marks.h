// RootMarks: which trees of a chunk have a provider with a trait or in an aggregate, and which have
// a root with a trait. One bit for each tree.
//
// A search passes over many trees at once by what it requires or forbids. Marks change with
// configurations only, never with claims, so that the versions of a chunk share them. A value.
//
// Invariant: each row of a table marks some tree; so traits and aggregates that are gone cost
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

// `roots` after a tree that is not in it was inserted at `at`.
RootSet WithRoomAt(const RootSet& roots, int at);
// `roots` after the tree at `at` was taken out of the chunk.
RootSet Without(RootSet roots, int at);

// The trees that have each key, a trait or an aggregate.
template <typename Key>
class MarkTable {
 public:
  // The trees that have `key`.
  const RootSet& Find(Key key) const;
  void Add(Key key, int at);
  // The tree at `at` has no key any more. A row may be left that marks no tree, until DropEmpty.
  void Clear(int at);
  // Drops the rows that mark no tree.
  void DropEmpty();
  // Inserts a tree without keys at `at`; the trees at `at` and above move up by one.
  void Insert(int at);
  // Takes out the tree at `at`; the trees above it move down by one.
  void Erase(int at);

 private:
  std::vector<std::pair<Key, RootSet>> rows_;  // rising by key
};

struct RootMarks {
  MarkTable<TraitId> traits;
  MarkTable<AggregateId> aggregates;
  // The trees of one provider. Whatever such a tree has, its root has.
  RootSet single;
  // The trees of several providers whose root has the trait.
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
