// FlatPlan: matches a plan with one group against trees of one provider.
//
// The provider of such a tree serves the whole plan or nothing. FlatPlan finds the same candidates
// as RootSearch with less work: in most fleets every host is one provider, and all candidates are
// equal except for the id of that provider. Owned by one search.
#ifndef BERTH_PLACEMENT_SEARCH_FLAT_PLAN_H_
#define BERTH_PLACEMENT_SEARCH_FLAT_PLAN_H_

#include <vector>

#include "placement/search/plan.h"
#include "placement/search/root_search.h"
#include "placement/values/candidate.h"

namespace berth::placement {

class FlatPlan {
 public:
  // Whether `plan` has a single group, and no choice for one slot of the plan affects another slot.
  static bool IsFor(const SearchPlan& plan);

  // REQUIRES: IsFor(plan).
  explicit FlatPlan(const SearchPlan& plan);

  // Whether the only provider of `tree` serves the whole plan. If `budget` is spent, returns false.
  // `certainly`: RootScan::certainly_fits, so that only the budget counts. REQUIRES: `tree` has one
  // provider, the state has no sharing providers, and a RootScan that does not name one tree has
  // returned the tree: for such a tree its marks are exact, so that traits and aggregates, which are
  // elsewhere in memory, are not compared again.
  bool Fits(const Tree& tree, bool certainly, StepBudget& budget) const;
  // The candidate in which `provider` serves the whole plan. Valid until the next call of this
  // method.
  const Candidate& On(ProviderId provider);

 private:
  const int slot_count_;
  std::vector<ClassAmount> amounts_;  // sorted by class
  Candidate candidate_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_FLAT_PLAN_H_
