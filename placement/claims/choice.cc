#include "placement/claims/choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "placement/search/constraint.h"

namespace berth::placement {
namespace {

bool HasRoom(const std::vector<TreePtr>& trees, const Allocation& wanted) {
  for (const TreePtr& tree : trees) {
    const int position = tree->Find(wanted.provider);
    if (position >= 0) return CanTake(*tree, position, {wanted.resource_class, wanted.amount});
  }
  return false;
}

// Whether one of the providers of the candidate has `trait`.
bool ServesWith(const Choice& choice, TraitId trait) {
  for (const auto& [suffix, providers] : choice.candidate.mappings) {
    for (const ProviderId provider : providers) {
      for (const TreePtr& tree : choice.trees) {
        const int position = tree->Find(provider);
        if (position >= 0 && tree->config(position).HasTrait(trait)) return true;
      }
    }
  }
  return false;
}

}  // namespace

Choice ChoiceOf(const State& state, Candidate candidate) {
  Choice choice;
  choice.trees = {state.FindTree(candidate.root)};
  const auto add = [&](ProviderId provider) {
    for (const TreePtr& tree : choice.trees) {
      if (tree->Find(provider) >= 0) return;
    }
    choice.trees.push_back(state.FindProvider(provider)->tree);
  };
  for (const auto& [suffix, providers] : candidate.mappings) {
    for (const ProviderId provider : providers) add(provider);
  }
  choice.candidate = std::move(candidate);
  return choice;
}

bool Stands(const State& now, const Choice& choice, const CandidateRequest& query,
            const SearchScope& scope) {
  const ProviderId root = choice.candidate.root;
  if (scope.only && root != *scope.only) return false;
  if (scope.without.contains(root)) return false;
  if (query.exclude_stale_roots && now.fleet().IsStale(root)) return false;
  std::vector<TreePtr> trees;
  for (const TreePtr& then : choice.trees) {
    TreePtr tree = now.FindTree(then->root_id());
    if (!tree || tree->shape != then->shape || now.fleet().IsRetired(then->root_id())) return false;
    trees.push_back(std::move(tree));
  }
  return std::all_of(choice.candidate.allocations.begin(), choice.candidate.allocations.end(),
                     [&trees](const Allocation& wanted) { return HasRoom(trees, wanted); });
}

int64_t WorthOf(const State& now, const Choice& choice, const PlannedOrder& order) {
  int64_t worth = 0;
  const TreePtr tree = now.FindTree(choice.candidate.root);
  for (const ClassWeight& weighted : order.shares) {
    worth += FreeShareOf(*tree, weighted.resource_class) * weighted.weight;
  }
  for (const TraitWeight& weighted : order.traits) {
    if (ServesWith(choice, weighted.trait)) worth += weighted.weight * kShareWhole;
  }
  return worth;
}

}  // namespace berth::placement
