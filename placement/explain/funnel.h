// Funnel: the constraints of a request one by one, in the order in which they are tried, and how far
// up each root comes.
//
// Tells more than a search and is slower: a search stops at the first thing that is missing. A root
// that passes every step is one that the search finds a candidate under. Local to one explanation.
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

struct FunnelStep {
  Constraint constraint;
  int group = -1;  // of the plan, where the constraint is a group's
  ClassId resource_class{};
  std::vector<TraitId> traits;
  AggregateSets aggregates;  // terms that hold up to this step, its own last
  bool forbids = false;      // of root traits and aggregates: none of them
  int search = -1;           // of the plans that are searched
};

// How far one root comes.
struct Reach {
  int failed = 0;  // the first step it fails, or the number of steps
  struct Failure {
    int step = 0;
    Amount available = 0;
  };
  std::vector<Failure>
      failures;  // one for each part of the request that is not met; rising by step
};

class Funnel {
 public:
  // All must outlive this. `plan` is that of `request` over `state`.
  Funnel(const State& state, const CandidateRequest& request, const SearchPlan& plan,
         const Sharing& sharing, StepBudget& budget);

  const std::vector<FunnelStep>& steps() const { return steps_; }
  Reach Look(const TreePtr& tree);
  // How much of the class of `step`, an amount, one provider of its group could give under `tree`
  // where all else that is asked of a group is met: the most that is less than `below`; 0: nothing.
  Amount MostOtherwise(const TreePtr& tree, const FunnelStep& step, Amount below);

 private:
  // A part of a group that one provider serves, or several together.
  struct Need {
    int group = 0;
    std::vector<ClassAmount> demands;
    int count = 1;  // of providers
  };
  // How a root does: of each need the options that met all so far.
  struct Standing {
    const Tree* tree = nullptr;
    std::vector<Option> options;
    std::vector<std::vector<int>> domains;
    std::vector<bool> failed;  // by need
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
  // Narrows the domains that `step` is about; whether all of its group still have options. Failures
  // are noted in `reach`.
  bool GroupPasses(int step, Standing& standing, Reach& reach);
  bool Concerns(const FunnelStep& step, const Need& need) const;
  bool Serves(const FunnelStep& step, const Need& need, const Option& option,
              const Tree& tree) const;
  Amount Gives(const FunnelStep& step, const Option& option) const;
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
