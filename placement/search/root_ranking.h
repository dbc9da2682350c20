// RootRanking: the roots that a plan could fit under, in the order of the plan, best first. A root
// is looked for only when the caller asks for it.
//
// The ranking computes the scores of a chunk of roots at a time, and keeps only the best few roots.
// When all kept roots are used up, it scans all chunks again for the next best roots, and keeps
// more roots than the scan before. Owned by one search; the state must outlive the ranking.
//
// Scores are whole numbers. At a weight of 1, a class adds kShareWhole * kWeightOne if the tree's
// amount of the class is entirely free, and half of that if half of the amount is free.
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

// A root and its score.
struct RankedRoot {
  int64_t score = 0;    // not less than the score of the root's best candidate
  int64_t by_root = 0;  // the part that all its candidates share: by free amounts, or random
  ProviderId id;
  const TreePtr* tree = nullptr;
};

// The order of the ranking: the higher score first, then the lower id.
inline bool IsBefore(const RankedRoot& a, const RankedRoot& b) {
  return a.score != b.score ? a.score > b.score : a.id < b.id;
}

class RootRanking {
 public:
  // `wanted`: how many roots the caller expects to ask for. Scans take their steps from `budget`,
  // which must outlive the ranking.
  RootRanking(const State& state, const SearchPlan& plan, const Sharing& sharing,
              StepBudget& budget, int64_t wanted);

  // The next root. Null if there is no further root, or if the budget is spent. Returns the same
  // root until Pop is called.
  const RankedRoot* Peek();
  void Pop() { ++at_; }

 private:
  using Scores = std::array<int64_t, RootChunk::kRootsMax>;

  // Replaces the roots in kept_, which are used up, by the roots that come next in the order.
  void Refill();
  void ScoreAll();
  // How much work it is to score one chunk, in steps of a search.
  int64_t StepsOfChunk() const;
  // Whether a root of `chunk` may be among the best of the roots that were seen so far. The scan
  // visits roots in order of id, so a later root with the same score comes after an earlier one.
  bool MayBeKept(const RootChunk& chunk) const;
  // Adds `root` to kept_ if `root` is among the best of the roots that come after last_.
  void Offer(const RankedRoot& root);
  void ScoreByShares(const RootChunk& chunk, Scores& scores) const;
  void ScoreByChance(const RootChunk& chunk, Scores& scores) const;
  // Raises the score of each root by the most that weighted traits can give to any of its
  // candidates.
  void AddTraits(const RootChunk& chunk, Scores& scores) const;

  const SearchPlan& plan_;
  StepBudget& budget_;
  const bool has_sharing_;
  std::vector<char> shared_traits_;  // by weighted trait: whether a sharing provider has it
  RootScan from_start_;              // each scan of many roots works on a copy
  size_t kept_max_;
  bool complete_ = false;  // no root comes after the roots in kept_
  bool has_last_ = false;
  RankedRoot last_;               // the last root of the refill before this one, if has_last_
  std::vector<RankedRoot> kept_;  // best first; during a refill, a heap with the worst on top
  size_t at_ = 0;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_ROOT_RANKING_H_
