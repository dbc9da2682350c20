// Funnel: tests a root against the constraints of a request, one step for each constraint, always
// in the same order.
//
// Says more than a search but is slower, because a search gives a root up at the first constraint
// that fails. A root passes all steps exactly if the search finds a candidate under it. Local to
// one explanation.
#ifndef BERTH_PLACEMENT_EXPLAIN_FUNNEL_H_
#define BERTH_PLACEMENT_EXPLAIN_FUNNEL_H_

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "placement/explain/explanation.h"
#include "placement/search/plan.h"
#include "placement/search/root_search.h"
#include "placement/search/sharing.h"
#include "placement/values/candidate.h"

namespace berth::placement {

// The test of one constraint.
struct FunnelStep {
  Constraint constraint;
  int group = -1;  // index in the plan of the group that it is about, or -1
  ClassId resource_class{};
  std::vector<TraitId> traits;
  AggregateSets aggregates;  // the terms of the steps up to this one, its own last
  bool forbids = false;      // the root must have none of the traits or aggregates
  int search = -1;           // index in searches_ if the step is a search, else -1
};

// How far one root gets through the funnel.
struct Reach {
  int failed = 0;  // index of the first step that it fails, or the number of steps
  struct Failure {
    int step = 0;
    Amount available = 0;  // the most that one provider could give, if it asks for an amount
  };
  // By rising step. A part of the request that fails one step is not tested by later steps.
  std::vector<Failure> failures;
};

class Funnel {
 public:
  // All arguments must outlive this. `plan` is the plan of `request` over `state`.
  Funnel(const State& state, const CandidateRequest& request, const SearchPlan& plan,
         const Sharing& sharing, StepBudget& budget);

  const std::vector<FunnelStep>& steps() const { return steps_; }
  // Tests the root of `tree`. The steps that search come last, and are left out if a step before
  // them failed. If the budget is spent, the result is meaningless.
  Reach Look(const TreePtr& tree);
  // The largest amount below `below` that `step`, which is about an amount, could ask for instead
  // so that one provider under `tree` gives it. That provider, and all other parts of the request,
  // must pass every other step that is not a search. 0: none.
  Amount MostOtherwise(const TreePtr& tree, const FunnelStep& step, Amount below);

 private:
  // A part of a group for which a provider is chosen: a whole suffixed group, or one class of the
  // unsuffixed group.
  struct Need {
    int group = 0;
    std::vector<ClassAmount> demands;
    int count = 1;  // how many providers may divide the amount
  };
  // A root on its way through the funnel.
  struct Standing {
    const Tree* tree = nullptr;
    std::vector<Option> options;
    std::vector<std::vector<int>> domains;  // by need: options that passed all steps so far
    std::vector<bool> failed;               // by need
  };

  void ListNeeds(const CandidateRequest& request);
  void ListRootSteps();
  void ListGroupSteps(int group);
  void ListAmountSteps(int group, ConstraintKind kind);
  void ListSetSteps();
  FunnelStep& Add(ConstraintKind kind, int group = -1);
  std::vector<std::string> TraitNames(const std::vector<TraitId>& traits) const;
  std::vector<std::string> SuffixesOf(const std::vector<int>& slots) const;

  Standing Begin(const TreePtr& tree);
  bool RootPasses(const FunnelStep& step, const Tree& tree) const;
  // Removes the options that fail `step` from the domains of its group. False: some need of the
  // group cannot be met. If it could be met until this step, a failure is added to `reach`.
  bool GroupPasses(int step, Standing& standing, Reach& reach);
  // Whether `step` is about `need`.
  bool Concerns(const FunnelStep& step, const Need& need) const;
  bool Serves(const FunnelStep& step, const Need& need, const Option& option,
              const Tree& tree) const;
  Amount Gives(const FunnelStep& step, const Option& option) const;
  // Whether the options in `domain` are enough for `need`, if only `step` is considered.
  bool IsEnough(const Need& need, const std::vector<int>& domain, const FunnelStep& step,
                const Standing& standing) const;
  bool TraitsCanBeMet(int step, const Standing& standing) const;
  bool HasSolution(int search, const TreePtr& tree);

  const State& state_;
  const SearchPlan& plan_;
  const Sharing& sharing_;
  StepBudget& budget_;
  std::vector<Need> needs_;
  std::vector<FunnelStep> steps_;
  std::deque<SearchPlan> searched_;
  std::vector<std::unique_ptr<RootSearch>> searches_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_EXPLAIN_FUNNEL_H_
