// RootRanking: the roots that a plan could fit under, those that its order prefers first, found as
// they are asked for.
//
// Scores a chunk of roots at a time from its columns and keeps only the best few; when those are
// used up it scans again for the next best, more of them. Owned by one search; the state must
// outlive it.
//
// Scores are whole numbers: a share of the whole times a weight of 1 is kShareWhole * kWeightOne.
#ifndef BERTH_PLACEMENT_SEARCH_ROOT_RANKING_H_
#define BERTH_PLACEMENT_SEARCH_ROOT_RANKING_H_

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "placement/search/plan.h"
#include "placement/search/root_scan.h"
#include "placement/search/root_search.h"
#include "placement/search/sharing.h"
#include "placement/state/state.h"

namespace berth::placement {

// A root, and what it is worth.
struct RankedRoot {
  int64_t score = 0;    // at most, whichever of its providers serve
  int64_t by_root = 0;  // of it what all its candidates have: by what is free, or by chance
  ProviderId id;
  const TreePtr* tree = nullptr;
};

// The higher score, then the lower id.
inline bool IsBefore(const RankedRoot& a, const RankedRoot& b) {
  return a.score != b.score ? a.score > b.score : a.id < b.id;
}

class RootRanking {
 public:
  // `wanted`: how many roots will be asked for, as far as is known. `budget`, which must outlive
  // this, pays for scans.
  RootRanking(const State& state, const SearchPlan& plan, const Sharing& sharing,
              StepBudget& budget, int64_t wanted);

  // The next root, or null at the end, or where the budget is spent; stands until Pop.
  const RankedRoot* Peek();
  void Pop() { ++at_; }

 private:
  using Scores = std::array<int64_t, RootChunk::kRootsMax>;

  // Finds the best roots behind the last one that was told.
  void Refill();
  void ScoreAll();
  // What a chunk costs in steps.
  int64_t StepsOfChunk() const;
  void Offer(const RankedRoot& root);
  void ScoreByShares(const RootChunk& chunk, Scores& scores) const;
  void ScoreByChance(const RootChunk& chunk, Scores& scores) const;
  // Adds the most that traits of the providers that serve could add.
  void AddTraits(const RootChunk& chunk, Scores& scores) const;

  const SearchPlan& plan_;
  StepBudget& budget_;
  const bool has_sharing_;
  std::vector<char> shared_traits_;  // by weighted trait: whether a sharing provider has it
  RootScan from_start_;              // copied for each scan of many roots
  size_t kept_max_;
  bool all_told_ = false;  // nothing stands behind what is kept
  bool any_told_ = false;
  RankedRoot last_;               // of the last refill, where any_told_
  std::vector<RankedRoot> kept_;  // best first; while it is filled, a heap with the worst on top
  size_t at_ = 0;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_ROOT_RANKING_H_
