#include "placement/explain/explain.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "placement/explain/funnel.h"
#include "placement/explain/relaxation.h"

namespace berth::placement {
namespace {

// A root that does not fit, and how near it comes: the fewer parts are missing, the further up the
// funnel the first of them, the smaller their share of what is asked for.
struct Miss {
  Reach reach;
  double gap = 0;
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
    for (const FunnelStep& step : funnel_.steps()) said_.steps.push_back({step.constraint, 0, 0});
  }

  Explanation Run() {
    said_.root_count = state_.roots().size();
    for (const auto& chunk : state_.roots().chunks()) {
      for (int at = 0; at < chunk->trees.size() && !steps_.spent(); ++at) Look(chunk->trees[at]);
    }
    std::sort_heap(misses_.begin(), misses_.end(), IsNearer);
    for (const Miss& miss : misses_) said_.near_misses.push_back(TellOf(miss));
    if (said_.fitting_root_count == 0 && !steps_.spent()) {
      said_.relaxations = FindRelaxations(state_, request_, sharing_, funnel_, steps_);
    }
    said_.truncated = steps_.spent();
    return std::move(said_);
  }

 private:
  void Look(const TreePtr& tree) {
    Reach reach = funnel_.Look(tree);
    if (steps_.spent()) return;  // what failed may have had no time
    const int count = static_cast<int>(said_.steps.size());
    for (int step = 0; step < count && step <= reach.failed; ++step) {
      ++said_.steps[step].roots_before;
      if (step < reach.failed) ++said_.steps[step].roots_after;
    }
    if (reach.failed == count) {
      ++said_.fitting_root_count;
      return;
    }
    Keep({std::move(reach), 0, &tree});
  }

  void Keep(Miss miss) {
    if (near_misses_max_ == 0) return;
    for (const Reach::Failure& failure : miss.reach.failures) {
      const auto amount = static_cast<double>(said_.steps[failure.step].constraint.amount);
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

  NearMiss TellOf(const Miss& miss) const {
    NearMiss told{(*miss.tree)->root_id(), (*miss.tree)->config(0).name, {}};
    for (const Reach::Failure& failure : miss.reach.failures) {
      told.shortfalls.push_back({said_.steps[failure.step].constraint, failure.available});
    }
    return told;
  }

  const State& state_;
  const CandidateRequest& request_;
  const size_t near_misses_max_;
  StepBudget steps_;
  Sharing sharing_;
  Funnel funnel_;
  Explanation said_;
  std::vector<Miss> misses_;  // a heap, the farthest on top
};

}  // namespace

absl::StatusOr<Explanation> Explain(const State& state, const CandidateRequest& request,
                                    int near_misses_max, const SearchBudget& budget) {
  const absl::StatusOr<SearchPlan> plan = PlanSearch(state, request);
  if (!plan.ok()) return plan.status();
  return Explainer(state, request, *plan, near_misses_max, budget.steps_max).Run();
}

}  // namespace berth::placement
