// Funnel: tests a root against the constraints of a request, one step for each constraint, always
// in the same order.
//
// A funnel says more than a search but is slower, because a search gives up a root at the first
// constraint that fails. A root passes all steps if and only if the search finds a candidate under
// the root. Local to one explanation.
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
  int group = -1;  // the step's group, as an index in the plan; -1: no group
  ClassId resource_class{};
  std::vector<TraitId> traits;
  AggregateSets aggregates;  // the terms of earlier steps, then this step's own
  bool forbids = false;      // the root must have none of the traits or aggregates
  int search = -1;           // index in searches_ if the step is a search, else -1
};

// The result of testing one root: how far the root gets through the funnel.
struct Reach {
  int failed = 0;  // index of the first step that the root fails, or the number of steps
  struct Failure {
    int step = 0;
    Amount available = 0;  // if an amount is asked for: the most that one provider could give
  };
  // The failed steps in their order. Once a need of the request (Funnel::Need) has failed a step,
  // later steps do not test that need.
  std::vector<Failure> failures;
};

class Funnel {
 public:
  // All arguments must outlive the funnel. `plan` is the plan of `request` over `state`.
  Funnel(const State& state, const CandidateRequest& request, const SearchPlan& plan,
         const Sharing& sharing, StepBudget& budget);

  const std::vector<FunnelStep>& steps() const { return steps_; }
  // Tests the root of `tree`. The steps that run a search come last, and are left out if an earlier
  // step failed. If the budget is spent, the result is meaningless.
  Reach Look(const TreePtr& tree);
  // Returns the largest amount less than `below` that `step` could ask for so that `tree` passes
  // all steps but searches. 0 if there is none, or if several providers may divide the amount.
  Amount MostOtherwise(const TreePtr& tree, const FunnelStep& step, Amount below);

 private:
  // A part of a request for which a provider is chosen: a whole suffixed group, or one class of the
  // unsuffixed group.
  struct Need {
    int group = 0;
    std::vector<ClassAmount> demands;
    int count = 1;  // how many providers may divide the amount
  };
  // What the funnel knows about one root while it tests that root.
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
  // For each need of the step's group, removes the options that fail `step` from the need's domain.
  // Returns false if a need of the group fails `step` or failed an earlier step. If a need fails
  // `step` that passed all earlier steps, adds the failure of `step` to `reach`.
  bool GroupPasses(int step, Standing& standing, Reach& reach);
  // Whether `step` tests the providers for `need`.
  bool Concerns(const FunnelStep& step, const Need& need) const;
  bool Serves(const FunnelStep& step, const Need& need, const Option& option,
              const Tree& tree) const;
  Amount Gives(const FunnelStep& step, const Option& option) const;
  // Whether the options in `domain` suffice for `need`, considering only the constraint of `step`.
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
