// Roots: all trees in order of root id, in chunks of at most 256 trees, with columns for the
// search.
//
// A value with shared chunks: copying it copies one pointer per chunk and per class. Changing a
// tree copies the tree's chunk and the changed columns of the chunk, unless nobody else holds them.
//
// A chunk has a column for each class that one of its trees offers. The column has two numbers for
// each tree. The first is the largest free amount that one provider of the tree has: with it a
// search passes over a tree without looking at the tree. The second is the share of the tree's
// amount that is free: by it a search puts trees in order. A chunk also keeps which trees have a
// trait or are in an aggregate.
//
// Invariant: a chunk has a column for a class if and only if one of the chunk's trees offers the
// class. So a class that no tree offers any more costs nothing.
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

// A free share is a whole number: 0 if none of the capacity is free, kShareWhole if all of it is.
inline constexpr int32_t kShareWhole = 1 << 20;

struct RootChunk {
  static constexpr int kRootsMax = kChunkRootsMax;

  // How much each tree of the chunk has free of one class, by the tree's index.
  struct Free {
    // The most that one provider of the tree has free: min(capacity - used, max_unit), clamped to
    // 0..kAmountMax. 0 for a tree that does not offer the class.
    std::array<int32_t, kRootsMax> max{};
    // How much of the tree's capacity is free, in parts of kShareWhole.
    std::array<int32_t, kRootsMax> share{};
  };
  struct Column {
    ClassId resource_class{};
    int32_t most_free = 0;   // the largest of free->max; MostFree has it too
    int32_t most_share = 0;  // the largest of free->share
    RootSet offered_by;      // the trees with an inventory of the class
    Counted<Free> free = Counted<Free>::Make();
  };

  // The trees by index, in groups of 16. Groups make copies cheap: copying the chunk touches the
  // reference counts of 16 groups, and changing a tree touches those of the 16 trees in its group.
  // Without groups, both would touch the reference counts of 256 trees.
  class Trees {
   public:
    int size() const { return size_; }
    const TreePtr& operator[](int at) const { return groups_[at / kGroup]->trees[at % kGroup]; }
    TreePtr& Own(int at) { return groups_[at / kGroup].Own().trees[at % kGroup]; }
    // Inserts `tree` at `at`; the trees at `at` and above move up by one. REQUIRES: size() <
    // kRootsMax.
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

  std::vector<ProviderId> ids;  // sorted
  Trees trees;                  // parallel to ids
  std::vector<Column> columns;  // sorted by class; each offered by some tree
  Counted<RootMarks> marks = Counted<RootMarks>::Make();
};

// The share of the tree's capacity of `resource_class` that is free. The column of the class has
// this number for `tree`.
int32_t FreeShareOf(const Tree& tree, ClassId resource_class);

class Roots {
 public:
  // The tree with root `root`, or null.
  TreePtr Find(ProviderId root) const;
  // Inserts `tree`, or replaces the tree with the same root.
  void Put(TreePtr tree);
  // Calls `edit` with the tree of `root`. `edit` may change what claims change: use, consumers and
  // allocation generations. REQUIRES: `root` is present.
  void Edit(ProviderId root, absl::FunctionRef<void(Tree&)> edit);
  // Removes the tree with root `root`. REQUIRES: `root` is present.
  void Erase(ProviderId root);

  int64_t size() const { return size_; }
  // The chunks, in order of ids of their trees. No chunk is empty.
  const std::vector<Counted<RootChunk>>& chunks() const { return chunks_; }
  // The largest free amount of each column; the chunk indexes are those of chunks().
  const MostFree& most_free() const { return most_free_; }

 private:
  // The index of the chunk that holds `root` or that would hold it if it were inserted; 0 if there
  // are no chunks.
  int ChunkOf(ProviderId root) const;
  // Makes room for `root`, which belongs into the full chunk at `at`: splits that chunk into
  // halves. If `root` is greater than all other roots, begins a new chunk instead.
  void MakeRoom(int at, ProviderId root);
  // Updates most_free_ from the columns of the chunk at `at`, and drops the columns of classes that
  // no tree of the chunk offers any more.
  void Summarize(int at);

  std::vector<Counted<RootChunk>> chunks_;
  std::vector<ProviderId> firsts_;  // the first id of each chunk
  MostFree most_free_;
  int64_t size_ = 0;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_ROOTS_H_
