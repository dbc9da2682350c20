// Roots: all trees by rising root id, in chunks of at most 256, with columns for the search.
//
// A value with shared chunks: copying costs one pointer per chunk, changing a tree copies its chunk
// once (a chunk that nobody else shares is changed in place). A chunk keeps, for each class that
// any of its trees offers, the largest free amount that one provider of each tree has: an upper
// bound that lets a search pass over a tree without looking at it.
#ifndef BERTH_PLACEMENT_ROOTS_H_
#define BERTH_PLACEMENT_ROOTS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "placement/tree.h"
#include "placement/types.h"

namespace berth::placement {

struct RootChunk {
  static constexpr int kRootsMax = 256;

  // Free amount of `resource_class` in each tree of the chunk: max over its providers of
  // min(capacity - used, max_unit), clamped to 0..kAmountMax.
  struct Column {
    ClassId resource_class{};
    std::array<int32_t, kRootsMax> free_max{};
  };

  std::vector<ProviderId> ids;  // rising
  std::vector<TreePtr> trees;   // parallel to ids
  std::vector<Column> columns;  // rising by class
};

class Roots {
 public:
  // The tree with root `root`, or null.
  TreePtr Find(ProviderId root) const;
  // Inserts `tree` or replaces the one with the same root.
  void Put(TreePtr tree);
  // REQUIRES: present.
  void Erase(ProviderId root);

  int64_t size() const { return size_; }
  // Chunks by rising ids; none is empty.
  const std::vector<std::shared_ptr<const RootChunk>>& chunks() const { return chunks_; }

 private:
  std::vector<std::shared_ptr<const RootChunk>> chunks_;
  int64_t size_ = 0;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_ROOTS_H_
