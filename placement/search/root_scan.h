// RootScan: the roots that a plan could fit under, by rising id. Finds them when they are asked
// for.
//
// Tests many trees at a time, by the columns and marks of their chunk. A tree that it leaves out
// cannot fit; a tree that it returns may or may not fit. Owned by one search; the state must
// outlive it.
#ifndef BERTH_PLACEMENT_SEARCH_ROOT_SCAN_H_
#define BERTH_PLACEMENT_SEARCH_ROOT_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "placement/search/plan.h"
#include "placement/search/sharing.h"

namespace berth::placement {

class RootScan {
 public:
  RootScan(const State& state, const SearchPlan& plan, const Sharing& sharing);

  // The next tree that may fit, or null at the end.
  const TreePtr* Next();
  // The next chunk with a tree that may fit, or null at the end. Sets `may_fit` to these trees of
  // the chunk. REQUIRES: not names_one_tree(), and no call of Next.
  const RootChunk* NextChunk(RootSet& may_fit);
  // Whether the plan names the only tree that it can fit under.
  bool names_one_tree() const { return only_given_; }

 private:
  // Collect what the plan asks of each tree itself, because no sharing provider can give it.
  void NeedAmounts(const Sharing& sharing);
  void NeedMarks(const Sharing& sharing);
  void BarMarks(const Sharing& sharing);

  // False if, for some needed class, no tree of the chunk has enough. True does not mean that one
  // tree has enough of all classes.
  bool MayFit(size_t chunk) const;
  // Sets may_fit_ to the trees of `chunk` that may fit. REQUIRES: MayFit is true of the chunk.
  void Sift(const RootChunk& chunk);
  // Removes trees from may_fit_ that lack a needed trait or aggregate, or have a barred one.
  void SiftByMarks(const RootMarks& marks);
  // Removes trees from may_fit_ that have too little of a needed class.
  void SiftByAmounts(const RootChunk& chunk);

  // Prefetches the data of trees that come soon after the one at index `tree` in `chunk`.
  void FetchAhead(const RootChunk& chunk, size_t tree) const;

  const State& state_;
  const SearchPlan& plan_;
  bool only_given_ = false;  // the plan names the only tree
  TreePtr only_;             // that tree; null if it does not exist
  std::vector<ClassAmount> needed_;
  std::vector<absl::Span<const int32_t>> most_free_;  // parallel to needed_: by chunk
  TraitSets needed_traits_;
  AggregateSets needed_aggregates_;
  // A tree of one provider that has one of these cannot fit.
  std::vector<TraitId> barred_traits_;
  std::vector<AggregateId> barred_aggregates_;
  size_t chunk_ = 0;     // index of the chunk
  bool sifted_ = false;  // may_fit_ is set for this chunk, or the only tree was returned
  size_t at_ = 0;        // index in the chunk of the next tree
  RootSet may_fit_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_ROOT_SCAN_H_
