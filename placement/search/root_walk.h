// RootWalk: the roots under which a plan has a solution, by rising id, each with its first
// solution. For those who count roots; a Search takes turns among them instead.
//
// Local to one call; what it is given must outlive it.
#ifndef BERTH_PLACEMENT_SEARCH_ROOT_WALK_H_
#define BERTH_PLACEMENT_SEARCH_ROOT_WALK_H_

#include <vector>

#include "placement/search/root_scan.h"
#include "placement/search/root_search.h"

namespace berth::placement {

class RootWalk {
 public:
  RootWalk(const State& state, const SearchPlan& plan, const Sharing& sharing, StepBudget& budget);

  // The next such root; null at the end, or where the budget is spent.
  const TreePtr* Next();
  // At the first solution under that root.
  const RootSearch& found() const { return search_; }
  // The sharing providers of other trees that serve it.
  const std::vector<const SharingProvider*>& foreign() const { return foreign_; }

 private:
  bool IsInService(ProviderId root) const;

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
