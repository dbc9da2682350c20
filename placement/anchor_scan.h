// AnchorScan: the roots that a plan could fit under, by rising id, found as they are asked for.
//
// Passes over trees by the columns of their chunk, many at a time; what it yields may fit, what it
// leaves out cannot. Owned by one search; the state must outlive it.
#ifndef BERTH_PLACEMENT_ANCHOR_SCAN_H_
#define BERTH_PLACEMENT_ANCHOR_SCAN_H_

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "placement/search_plan.h"
#include "placement/sharing.h"

namespace berth::placement {

class AnchorScan {
 public:
  AnchorScan(const State& state, const SearchPlan& plan, const Sharing& sharing);

  // The next tree, or null at the end.
  const TreePtr* Next();

 private:
  // Finds out which trees of `chunk` may fit; whether any does.
  bool Sift(const RootChunk& chunk);

  const State& state_;
  const SearchPlan& plan_;
  TreePtr only_;  // where the plan names the one tree that can be the anchor
  bool only_given_ = false;
  // What a tree must offer by itself: classes that no sharing provider can give, and how much.
  std::vector<ClassAmount> needed_;
  size_t chunk_ = 0;
  size_t at_ = 0;  // within the chunk; 0: not sifted yet
  // By tree of the chunk: negative where some needed class is short.
  std::array<int32_t, RootChunk::kRootsMax> spare_{};
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_ANCHOR_SCAN_H_
