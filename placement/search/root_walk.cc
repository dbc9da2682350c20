#include "placement/search/root_walk.h"

#include "placement/search/constraint.h"

namespace berth::placement {

RootWalk::RootWalk(const State& state, const SearchPlan& plan, const Sharing& sharing,
                   StepBudget& budget)
    : state_(state),
      plan_(plan),
      sharing_(sharing),
      budget_(budget),
      scan_(state, plan, sharing),
      search_(plan, budget) {}

const TreePtr* RootWalk::Next() {
  while (!budget_.spent()) {
    const TreePtr* tree = scan_.Next();
    if (tree == nullptr) return nullptr;
    --budget_.left;
    if (!RootMatches(**tree, plan_.root)) continue;  // P-178
    foreign_.clear();
    if (!sharing_.empty()) foreign_ = sharing_.Reaching(**tree);
    if (!search_.Begin(*tree, foreign_)) continue;
    if (!NodeMayServe(state_, (*tree)->root_id(), plan_.exclude_stale_roots)) continue;
    if (search_.Next()) return tree;
  }
  return nullptr;
}

}  // namespace berth::placement
