// RootWalk: finds the roots under which a plan has a solution, in order of id, and the first
// solution under each of them.
//
// For callers that count roots. (A search, in contrast, takes one candidate of each root, then a
// second one of each.) Local to one call; the arguments of the constructor must outlive the walk.
#ifndef BERTH_PLACEMENT_SEARCH_ROOT_WALK_H_
#define BERTH_PLACEMENT_SEARCH_ROOT_WALK_H_

#include <vector>

#include "placement/search/root_scan.h"
#include "placement/search/root_search.h"

namespace berth::placement {

class RootWalk {
 public:
  RootWalk(const State& state, const SearchPlan& plan, const Sharing& sharing, StepBudget& budget);

  // The tree of the next root with a solution. Null at the end, or if the budget is spent.
  const TreePtr* Next();
  // The search under the root that Next returned. It has found the first solution and no other.
  const RootSearch& found() const { return search_; }
  // The sharing providers of other trees that serve the root that Next returned.
  const std::vector<const SharingProvider*>& foreign() const { return foreign_; }

 private:
  const State& state_;
  const SearchPlan& plan_;
  const Sharing& sharing_;
  StepBudget& budget_;
  RootScan scan_;
  RootSearch search_;
  std::vector<const SharingProvider*> foreign_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_ROOT_WALK_H_
