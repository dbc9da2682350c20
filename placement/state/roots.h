// Roots: all trees by rising root id, in chunks of at most 256, with columns for the search.
//
// A value with shared chunks: copying it copies one pointer per chunk and per class. Changing a
// tree copies the tree's chunk, and those of the chunk's columns that change, unless nobody else
// holds them. A chunk keeps two numbers for each of its trees and each class that any of its trees
// offers: the largest free amount that one provider of the tree has, which lets a search pass over
// a tree without looking at it, and the share of the tree's amount that is free, which puts trees
// in order. It also keeps which trees have a trait or are in an aggregate.
//
// Invariant: a chunk has a column for a class if and only if one of its trees offers the class; so
// classes that are gone cost nothing.
#ifndef BERTH_PLACEMENT_STATE_ROOTS_H_
#define BERTH_PLACEMENT_STATE_ROOTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "placement/state/counted.h"
#include "placement/state/most_free.h"
#include "placement/state/root_marks.h"
#include "placement/state/tree.h"
#include "placement/values/types.h"

namespace berth::placement {

// A share is a whole number from 0 to this, which means all of it.
inline constexpr int32_t kShareWhole = 1 << 20;

struct RootChunk {
  static constexpr int kRootsMax = kChunkRootsMax;

  // What each tree of the chunk has free of one class, by the tree's index.
  struct Free {
    // The most that one of the tree's providers has free: min(capacity - used, max_unit), clamped
    // to 0..kAmountMax. 0 for a tree that does not offer the class.
    std::array<int32_t, kRootsMax> max{};
    // How much of the tree's capacity is free, in parts of kShareWhole.
    std::array<int32_t, kRootsMax> share{};
  };
  struct Column {
    ClassId resource_class{};
    int32_t most_free = 0;  // the largest of free->max; MostFree has it too
    RootSet offered_by;     // the trees with an inventory of the class
    Counted<Free> free = Counted<Free>::Make();
  };

  // Trees by index, in groups of 16. A copy of the chunk counts up the references of 16 groups, and
  // a changed group those of its 16 trees, instead of 256 trees each time.
  class Trees {
   public:
    int size() const { return size_; }
    const TreePtr& operator[](int at) const { return groups_[at / kGroup]->trees[at % kGroup]; }
    TreePtr& Own(int at) { return groups_[at / kGroup].Own().trees[at % kGroup]; }
    // The trees at `at` and above move up by one. REQUIRES: size() < kRootsMax.
    void Insert(int at, TreePtr tree);
    void Erase(int at);

   private:
    static constexpr int kGroup = 16;
    struct Group {
      std::array<TreePtr, kGroup> trees;
    };
    std::array<Counted<Group>, kRootsMax / kGroup> groups_;
    int size_ = 0;
  };

  std::vector<ProviderId> ids;  // rising
  Trees trees;                  // parallel to ids
  std::vector<Column> columns;  // rising by class; each offered by some tree
  Counted<RootMarks> marks = Counted<RootMarks>::Make();
};

// The share of the tree's capacity of `resource_class` that is free: what the column has for
// `tree`.
int32_t FreeShareOf(const Tree& tree, ClassId resource_class);

class Roots {
 public:
  // The tree with root `root`, or null.
  TreePtr Find(ProviderId root) const;
  // Inserts `tree` or replaces the one with the same root.
  void Put(TreePtr tree);
  // Calls `edit` with the tree of `root`, for changing what claims change: use, consumers and
  // allocation generations. REQUIRES: `root` is present.
  void Edit(ProviderId root, absl::FunctionRef<void(Tree&)> edit);
  // REQUIRES: present.
  void Erase(ProviderId root);

  int64_t size() const { return size_; }
  // Chunks by rising ids; none is empty.
  const std::vector<Counted<RootChunk>>& chunks() const { return chunks_; }
  // The largest number of each column, parallel to chunks().
  const MostFree& most_free() const { return most_free_; }

 private:
  // The index of the chunk that holds `root` or would hold it; 0 if there are no chunks.
  int ChunkOf(ProviderId root) const;
  // Makes room for `root` beside the full chunk at `at`: splits that chunk into halves, or begins a
  // new chunk if `root` is greater than all other roots.
  void MakeRoom(int at, ProviderId root);
  // Brings most_free_ up to the columns of the chunk at `at`, and drops the columns that no tree
  // of the chunk offers any more.
  void Summarize(int at);

  std::vector<Counted<RootChunk>> chunks_;
  std::vector<ProviderId> firsts_;  // the first id of each chunk
  MostFree most_free_;
  int64_t size_ = 0;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_ROOTS_H_
