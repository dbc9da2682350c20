#include "placement/explain/explain.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "placement/explain/funnel.h"
#include "placement/explain/relaxation.h"
#include "placement/ground/status_macros.h"

namespace berth::placement {
namespace {

// A root that does not fit. Roots are compared by how nearly they fit: first by the number of
// failed constraints, then by how late in the funnel the first failure comes, then by the gap.
struct Miss {
  Reach reach;
  double gap = 0;  // sum of what is missing, as fractions of the amounts asked for
  const TreePtr* tree = nullptr;
};
bool IsNearer(const Miss& a, const Miss& b) {
  const auto key = [](const Miss& miss) {
    return std::tuple(miss.reach.failures.size(), -miss.reach.failed, miss.gap,
                      (*miss.tree)->root_id());
  };
  return key(a) < key(b);
}

class Explainer {
 public:
  Explainer(const State& state, const CandidateRequest& request, const SearchPlan& plan,
            int near_misses_max, int64_t steps_max)
      : state_(state),
        request_(request),
        near_misses_max_(static_cast<size_t>(std::max(near_misses_max, 0))),
        steps_{steps_max},
        sharing_(state),
        funnel_(state, request, plan, sharing_, steps_) {
    for (const FunnelStep& step : funnel_.steps())
      explanation_.steps.push_back({step.constraint, 0, 0});
  }

  Explanation Run() {
    explanation_.root_count = state_.roots().size();
    for (const auto& chunk : state_.roots().chunks()) {
      for (int at = 0; at < chunk->trees.size() && !steps_.spent(); ++at) Look(chunk->trees[at]);
    }
    std::sort_heap(misses_.begin(), misses_.end(), IsNearer);
    for (const Miss& miss : misses_) explanation_.near_misses.push_back(NearMissOf(miss));
    if (explanation_.fitting_root_count == 0 && !steps_.spent()) {
      explanation_.relaxations = FindRelaxations(state_, request_, sharing_, funnel_, steps_);
    }
    explanation_.truncated = steps_.spent();
    return std::move(explanation_);
  }

 private:
  void Look(const TreePtr& tree) {
    Reach reach = funnel_.Look(tree);
    if (steps_.spent()) return;  // the root may fail only because the steps ran out
    const int count = static_cast<int>(explanation_.steps.size());
    for (int step = 0; step < count && step <= reach.failed; ++step) {
      ++explanation_.steps[step].roots_before;
      if (step < reach.failed) ++explanation_.steps[step].roots_after;
    }
    if (reach.failed == count) {
      ++explanation_.fitting_root_count;
      return;
    }
    Keep({std::move(reach), 0, &tree});
  }

  void Keep(Miss miss) {
    if (near_misses_max_ == 0) return;
    for (const Reach::Failure& failure : miss.reach.failures) {
      const auto amount = static_cast<double>(explanation_.steps[failure.step].constraint.amount);
      if (amount > 0) miss.gap += (amount - static_cast<double>(failure.available)) / amount;
    }
    if (misses_.size() == near_misses_max_) {
      if (!IsNearer(miss, misses_.front())) return;
      std::pop_heap(misses_.begin(), misses_.end(), IsNearer);
      misses_.pop_back();
    }
    misses_.push_back(std::move(miss));
    std::push_heap(misses_.begin(), misses_.end(), IsNearer);
  }

  NearMiss NearMissOf(const Miss& miss) const {
    NearMiss described{(*miss.tree)->root_id(), (*miss.tree)->config(0).name, {}};
    for (const Reach::Failure& failure : miss.reach.failures) {
      described.shortfalls.push_back(
          {explanation_.steps[failure.step].constraint, failure.available});
    }
    return described;
  }

  const State& state_;
  const CandidateRequest& request_;
  const size_t near_misses_max_;
  StepBudget steps_;
  Sharing sharing_;
  Funnel funnel_;
  Explanation explanation_;
  std::vector<Miss> misses_;  // a heap, the root farthest from fitting on top
};

}  // namespace

absl::StatusOr<Explanation> Explain(const State& state, const CandidateRequest& request,
                                    int near_misses_max, const SearchBudget& budget) {
  BERTH_ASSIGN_OR_RETURN(const SearchPlan plan, PlanSearch(state, request));
  return Explainer(state, request, plan, near_misses_max, budget.steps_max).Run();
}

}  // namespace berth::placement
