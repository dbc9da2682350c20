// FlatPlan: what a plan of one group comes to on trees of one provider: such a tree serves all of it
// or nothing.
//
// Finds what RootSearch would, without its bookkeeping: most fleets are hosts of one provider, and
// all their candidates are one candidate with other ids. Owned by one search; the plan must outlive
// it.
#ifndef BERTH_PLACEMENT_SEARCH_FLAT_PLAN_H_
#define BERTH_PLACEMENT_SEARCH_FLAT_PLAN_H_

#include <vector>

#include "placement/search/plan.h"
#include "placement/search/root_search.h"
#include "placement/values/candidate.h"

namespace berth::placement {

class FlatPlan {
 public:
  // Whether `plan` is such a one: a single group, whose slots have nothing to do with each other.
  static bool IsFor(const SearchPlan& plan);

  // REQUIRES: IsFor(plan).
  explicit FlatPlan(const SearchPlan& plan);

  // Whether the only provider of `tree` serves the plan, if no provider of another tree can.
  bool Fits(const Tree& tree, StepBudget& budget) const;
  // The candidate where it does. It stands until the next call.
  const Candidate& On(ProviderId provider);

 private:
  const PlannedGroup& group_;
  const int slot_count_;
  std::vector<ClassAmount> amounts_;  // rising by class
  Candidate candidate_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_FLAT_PLAN_H_
