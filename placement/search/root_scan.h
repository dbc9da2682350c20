// RootScan: the roots that a plan could fit under, in order of id. A root is looked for only when
// the caller asks for it.
//
// The scan tests a chunk of trees at a time, with the chunk's columns (free amounts) and marks
// (traits and aggregates). The plan cannot fit under a tree that the scan leaves out, and may fit
// under a tree that the scan returns. Owned by one search; the state must outlive the scan.
#ifndef BERTH_PLACEMENT_SEARCH_ROOT_SCAN_H_
#define BERTH_PLACEMENT_SEARCH_ROOT_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "placement/search/plan.h"
#include "placement/search/sharing.h"

namespace berth::placement {

class RootScan {
 public:
  RootScan(const State& state, const SearchPlan& plan, const Sharing& sharing);

  // The next tree that the plan may fit under, or null at the end.
  const TreePtr* Next();
  // To be called before Next if the plan has one group and the state has no sharing providers: trees
  // that certainly fit are then told, and of their memory only the first block is prefetched.
  void TellCertain() { tells_certain_ = true; }
  // Whether the plan certainly fits on the tree that Next returned last: the tree has one provider,
  // for which columns and marks are exact. False does not mean that it does not fit.
  bool certainly_fits() const { return !only_given_ && certain_[at_ - 1]; }
  // The next chunk with a tree that the plan may fit under, or null at the end. Sets `may_fit` to
  // all such trees of the chunk. Passes over chunks for which `is_wanted` returns false. REQUIRES:
  // not names_one_tree(), and Next was never called.
  const RootChunk* NextChunk(absl::FunctionRef<bool(const RootChunk&)> is_wanted, RootSet& may_fit);
  // Whether the plan names a tree, so that it can fit only under that tree.
  bool names_one_tree() const { return only_given_; }

 private:
  // The next two methods collect the amounts and the marks (traits and aggregates) that a tree must
  // have itself, because no sharing provider has them.
  void NeedAmounts(const Sharing& sharing);
  void NeedMarks(const Sharing& sharing);
  void BarMarks(const Sharing& sharing);

  // Returns false if there is a needed class of which no tree of the chunk has enough. True does
  // not mean that one tree has enough of all classes.
  bool MayFit(size_t chunk) const;
  // Sets may_fit_ to the trees of `chunk` that the plan may fit under. REQUIRES: MayFit is true of
  // the chunk.
  void Sift(const RootChunk& chunk);
  // Removes from may_fit_ each tree that lacks a needed trait or aggregate, or has one that is
  // barred.
  void SiftByMarks(const RootMarks& marks);
  // Removes from may_fit_ each tree that has too little free of a needed class.
  void SiftByAmounts(const RootChunk& chunk);
  // The same for few trees; `columns` is parallel to needed_.
  void SiftFew(absl::Span<const RootChunk::Column* const> columns);

  // Prefetches the data of the trees that come soon after index `tree` in `chunk`.
  void FetchAhead(const RootChunk& chunk, size_t tree) const;

  const State& state_;
  const SearchPlan& plan_;
  bool only_given_ = false;  // the plan names a tree: no other tree can fit
  TreePtr only_;             // the named tree; null if it does not exist
  std::vector<ClassAmount> needed_;
  std::vector<absl::Span<const int32_t>> most_free_;  // by needed class and chunk
  TraitSets needed_traits_;
  AggregateSets needed_aggregates_;
  // The plan cannot fit under a tree of one provider if the provider has one of these traits or is
  // in one of these aggregates.
  std::vector<TraitId> barred_traits_;
  std::vector<AggregateId> barred_aggregates_;
  size_t chunk_ = 0;     // index of the present chunk
  bool sifted_ = false;  // may_fit_ is set for this chunk, or the only tree was returned
  size_t at_ = 0;        // index of the next tree in the chunk
  RootSet may_fit_;
  bool tells_certain_ = false;
  RootSet certain_;  // those of may_fit_ for which certainly_fits is true
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_ROOT_SCAN_H_
