// Roots: all trees by rising root id, in chunks of at most 256, with columns for the search.
//
// A value with shared chunks: copying costs one pointer per chunk and per class, changing a tree
// copies its chunk once (a chunk that nobody else shares is changed in place). A chunk keeps, for each class that
// any of its trees offers, the largest free amount that one provider of each tree has: an upper
// bound that lets a search pass over a tree without looking at it; what share of each tree is free,
// which puts trees in order; and which trees have a trait or stand in an aggregate at all.
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

// A share that is all of it; shares are whole numbers up to it.
inline constexpr int32_t kShareWhole = 1 << 20;

struct RootChunk {
  static constexpr int kRootsMax = kChunkRootsMax;

  // Free amount of `resource_class` in each tree of the chunk: max over its providers of
  // min(capacity - used, max_unit), clamped to 0..kAmountMax. All zero where no tree of the chunk
  // offers the class any more.
  struct Column {
    ClassId resource_class{};
    // The largest of free_max: what more is asked for nobody in the chunk has. Also in MostFree.
    int32_t most_free = 0;
    std::array<int32_t, kRootsMax> free_max{};
    // How much of all that each tree can give away of the class is free, in parts of kShareWhole.
    std::array<int32_t, kRootsMax> free_share{};
  };

  // Trees by index. They stand in groups, so that a copy of the chunk counts up 16 groups and the
  // 16 trees of those that change, not all trees.
  class Trees {
   public:
    int size() const { return size_; }
    const TreePtr& operator[](int at) const { return groups_[at / kGroup]->trees[at % kGroup]; }
    TreePtr& Own(int at) { return groups_[at / kGroup].Own().trees[at % kGroup]; }
    // Shifts what stands at `at` and behind it. REQUIRES: size() < kRootsMax.
    void Insert(int at, TreePtr tree);
    void Erase(int at);

   private:
    static constexpr int kGroup = 16;
    struct Group {
      std::array<TreePtr, kGroup> trees;
    };
    std::array<Shared<Group>, kRootsMax / kGroup> groups_;
    int size_ = 0;
  };

  std::vector<ProviderId> ids;  // rising
  Trees trees;                  // parallel to ids
  std::vector<Column> columns;  // rising by class
  Shared<RootMarks> marks = Shared<RootMarks>::Make();
};

// What the column of `resource_class` says of `tree`: how much of it is free.
int32_t FreeShareOf(const Tree& tree, ClassId resource_class);

class Roots {
 public:
  // The tree with root `root`, or null.
  TreePtr Find(ProviderId root) const;
  // Inserts `tree` or replaces the one with the same root.
  void Put(TreePtr tree);
  // Lets `edit` change what claims move in the tree of `root`: use, consumers, allocation
  // generations. REQUIRES: present.
  void Edit(ProviderId root, absl::FunctionRef<void(Tree&)> edit);
  // REQUIRES: present.
  void Erase(ProviderId root);

  int64_t size() const { return size_; }
  // Chunks by rising ids; none is empty.
  const std::vector<Shared<RootChunk>>& chunks() const { return chunks_; }
  // What the chunks' columns have at most, parallel to chunks().
  const MostFree& most_free() const { return most_free_; }

 private:
  // The chunk that holds `root` or would; 0 where there is none.
  int ChunkOf(ProviderId root) const;
  // Halves the chunk at `at`, which is full, or begins a new one where `root` stands behind all.
  void MakeRoom(int at, ProviderId root);
  // Brings most_free_ up to the columns of the chunk at `at`.
  void Summarize(int at);

  std::vector<Shared<RootChunk>> chunks_;
  std::vector<ProviderId> firsts_;  // of each chunk the first id, side by side
  MostFree most_free_;
  int64_t size_ = 0;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_ROOTS_H_
