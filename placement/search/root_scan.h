// RootScan: the roots that a plan could fit under, by rising id, found as they are asked for.
//
// Passes over trees by the columns and marks of their chunk, many at a time; what it yields may fit,
// what it leaves out cannot. Owned by one search; the state must outlive it.
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

  // The next tree, or null at the end.
  const TreePtr* Next();
  // The next chunk with trees that may fit, which `may_fit` then names, or null at the end.
  // REQUIRES: the plan does not name its tree, and Next is not called.
  const RootChunk* NextChunk(RootSet& may_fit);
  // Whether the plan leaves one tree at the most.
  bool names_one_tree() const { return only_given_; }

 private:
  // What of the plan a tree must meet by itself, since no sharing provider can.
  void NeedAmounts(const Sharing& sharing);
  void NeedMarks(const Sharing& sharing);
  void BarMarks(const Sharing& sharing);

  // Whether some tree of the chunk at `chunk` has, for each class by itself, as much as is needed.
  bool MayFit(size_t chunk) const;
  // Finds out which trees of `chunk` may fit. REQUIRES: MayFit.
  void Sift(const RootChunk& chunk);
  // Takes those out of `may_fit_` that lack marks, or have what is barred.
  void SiftByMarks(const RootMarks& marks);
  // Takes those out of `may_fit_` that are short of a class.
  void SiftByAmounts(const RootChunk& chunk);

  // Asks memory for what comes after `tree`, by index in `chunk`.
  void FetchAhead(const RootChunk& chunk, size_t tree) const;

  const State& state_;
  const SearchPlan& plan_;
  TreePtr only_;  // where the plan names the one tree that can be the root
  bool only_given_ = false;
  std::vector<ClassAmount> needed_;
  std::vector<absl::Span<const int32_t>> most_free_;  // parallel to needed_: by chunk
  TraitSets needed_traits_;
  AggregateSets needed_aggregates_;
  std::vector<TraitId> barred_traits_;          // of trees of one provider
  std::vector<AggregateId> barred_aggregates_;  // likewise
  size_t chunk_ = 0;
  bool sifted_ = false;  // the chunk at chunk_
  size_t at_ = 0;        // within it
  RootSet may_fit_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_ROOT_SCAN_H_
