#include "placement/explain/relaxation.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <utility>

#include "placement/search/root_walk.h"

namespace berth::placement {
namespace {

constexpr int kTriesMax = 256;  // how many smaller amounts are tried for one constraint

using SuffixSets = std::vector<std::vector<std::string>>;

template <typename T>
void EraseFirst(std::vector<T>& from, const T& item) {
  const auto found = std::find(from.begin(), from.end(), item);
  if (found != from.end()) from.erase(found);
}

// Removes from `sets` the set whose members are `names`. Returns false if there is no such set.
bool EraseSet(SuffixSets& sets, const std::vector<std::string>& names) {
  const std::set<std::string> wanted(names.begin(), names.end());
  const auto found = std::find_if(sets.begin(), sets.end(), [&wanted](const auto& set) {
    return std::set<std::string>(set.begin(), set.end()) == wanted;
  });
  if (found == sets.end()) return false;
  sets.erase(found);
  return true;
}

// Removes the constraint of `step`, a step about roots, from `request`.
void EraseOfRoot(const FunnelStep& step, CandidateRequest& request) {
  const std::vector<std::string>& names = step.constraint.names;
  if (step.constraint.kind == ConstraintKind::kRootTraits) {
    if (step.forbids) std::erase(request.root_forbidden, names.front().substr(1));
    if (!step.forbids) EraseFirst(request.root_required, names);
    return;
  }
  const std::vector<AggregateId>& term = step.aggregates.back();
  if (step.forbids) std::erase(request.root_forbidden_aggregates, term.front());
  if (!step.forbids) EraseFirst(request.root_member_of, term);
}

void EraseOfGroup(const FunnelStep& step, RequestGroup& group) {
  switch (step.constraint.kind) {
    case ConstraintKind::kInTree:
      group.in_tree.reset();
      return;
    case ConstraintKind::kRequiredTraits:
      return EraseFirst(group.required, step.constraint.names);
    case ConstraintKind::kForbiddenTraits:
      return group.forbidden.clear();
    case ConstraintKind::kMemberOf:
      return EraseFirst(group.member_of, step.aggregates.back());
    case ConstraintKind::kForbiddenAggregates:
      return group.forbidden_aggregates.clear();
    default: {  // the constraint asks for an amount
      const auto is_its = [&step](const NamedAmount& each) {
        return each.resource_class == step.constraint.names.front();
      };
      std::erase_if(group.resources, is_its);
      std::erase_if(group.max_providers, is_its);
    }
  }
}

// `request` without the constraint of `step`; nullopt if the constraint cannot be left out.
std::optional<CandidateRequest> RelaxedBy(const FunnelStep& step, CandidateRequest request) {
  const std::vector<std::string>& names = step.constraint.names;
  switch (step.constraint.kind) {
    case ConstraintKind::kRootTraits:
    case ConstraintKind::kRootAggregates:
      EraseOfRoot(step, request);
      return request;
    case ConstraintKind::kForbiddenRoots:
      request.forbidden_roots.clear();
      return request;
    case ConstraintKind::kStaleness:
      if (!request.exclude_stale_roots) return std::nullopt;
      request.exclude_stale_roots = false;
      return request;
    case ConstraintKind::kIsolate:
      if (!EraseSet(request.isolate, names)) request.group_policy = GroupPolicy::kNone;
      return request;
    case ConstraintKind::kSameSubtree:
      EraseSet(request.same_subtree, names);
      return request;
    case ConstraintKind::kSeparateSubtrees:
      EraseSet(request.separate_subtrees, names);
      return request;
    case ConstraintKind::kCombination:
      return std::nullopt;
    default:
      EraseOfGroup(step, request.groups[step.group]);
      return request;
  }
}

CandidateRequest WithAmount(const FunnelStep& step, CandidateRequest request, Amount amount) {
  for (NamedAmount& each : request.groups[step.group].resources) {
    if (each.resource_class == step.constraint.names.front()) each.amount = amount;
  }
  return request;
}

class Relaxer {
 public:
  Relaxer(const State& state, const CandidateRequest& request, const Sharing& sharing,
          Funnel& funnel, StepBudget& budget)
      : state_(state), request_(request), sharing_(sharing), funnel_(funnel), budget_(budget) {}

  std::vector<Relaxation> Run() {
    for (const FunnelStep& step : funnel_.steps()) {
      if (budget_.spent()) break;
      if (step.constraint.kind == ConstraintKind::kInventory) continue;  // kFree covers it
      Amount amount = 0;
      if (step.constraint.kind == ConstraintKind::kFree) amount = LargestFitting(step);
      const std::optional<CandidateRequest> changed =
          amount > 0 ? WithAmount(step, request_, amount) : RelaxedBy(step, request_);
      if (!changed) continue;
      const int64_t roots = CountRoots(*changed);
      if (roots > 0) found_.push_back({step.constraint, amount, roots});
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& a, const auto& b) { return a.root_count > b.root_count; });
    return std::move(found_);
  }

 private:
  // How many roots the changed request fits under. 0 also if the changed request is malformed (e.g.
  // because it asks for nothing any more), or if the budget is spent.
  int64_t CountRoots(const CandidateRequest& changed) {
    const absl::StatusOr<SearchPlan> plan = PlanSearch(state_, changed);
    if (!plan.ok()) return 0;
    RootWalk walk(state_, *plan, sharing_, budget_);
    int64_t roots = 0;
    while (walk.Next() != nullptr) ++roots;
    return budget_.spent() ? 0 : roots;
  }

  // The largest amount, less than the one asked for, with which the request fits under some root; 0
  // if there is none. Each try takes the root with the provider that could give the most. A try
  // fails if other groups need that provider, too. Then the root is tried with a smaller amount.
  Amount LargestFitting(const FunnelStep& step) {
    struct Try {
      Amount amount;
      const TreePtr* tree;
      bool operator<(const Try& other) const { return amount < other.amount; }
    };
    std::priority_queue<Try> tries;
    const auto add = [&](const TreePtr& tree, Amount below) {
      const Amount most = funnel_.MostOtherwise(tree, step, below);
      if (most > 0) tries.push({most, &tree});
    };
    for (const auto& chunk : state_.roots().chunks()) {
      for (int at = 0; at < chunk->trees.size() && !budget_.spent(); ++at) {
        add(chunk->trees[at], step.constraint.amount);
      }
    }
    for (int i = 0; i < kTriesMax && !tries.empty() && !budget_.spent(); ++i) {
      const Try best = tries.top();
      if (FitsUnder(*best.tree, WithAmount(step, request_, best.amount))) return best.amount;
      tries.pop();
      add(*best.tree, best.amount);
    }
    return 0;
  }

  bool FitsUnder(const TreePtr& tree, const CandidateRequest& changed) {
    const absl::StatusOr<SearchPlan> plan = PlanSearch(state_, changed);
    if (!plan.ok()) return false;
    RootSearch search(*plan, budget_);
    std::vector<const SharingProvider*> foreign;
    if (!sharing_.empty()) foreign = sharing_.Reaching(*tree);
    return search.Begin(tree, foreign) && search.Next();
  }

  const State& state_;
  const CandidateRequest& request_;
  const Sharing& sharing_;
  Funnel& funnel_;
  StepBudget& budget_;
  std::vector<Relaxation> found_;
};

}  // namespace

std::vector<Relaxation> FindRelaxations(const State& state, const CandidateRequest& request,
                                        const Sharing& sharing, Funnel& funnel,
                                        StepBudget& budget) {
  return Relaxer(state, request, sharing, funnel, budget).Run();
}

}  // namespace berth::placement
