#include "placement/explain/headroom.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "placement/search/root_walk.h"
#include "placement/values/capacity.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

// The trees that the counted claims have changed, by root. All other trees are as in the state.
using Overlay = absl::flat_hash_map<ProviderId, TreePtr>;

// The amount that a solution takes of one inventory.
struct Take {
  const TreePtr* tree;
  int position = 0;
  int row = 0;
  Amount amount = 0;
};

std::vector<Take> TakesOf(const SearchPlan& plan, const RootSearch& found) {
  std::vector<Take> takes;
  const auto add = [&takes](const Option& option, ClassId resource_class, Amount amount) {
    const int row = option.config().FindInventory(resource_class);
    for (Take& take : takes) {
      if (*take.tree == *option.tree && take.position == option.position && take.row == row) {
        take.amount += amount;  // P-195
        return;
      }
    }
    takes.push_back({option.tree, option.position, row, amount});
  };
  for (int s = 0; s < static_cast<int>(plan.slots.size()); ++s) {
    const Slot& slot = plan.slots[s];
    if (found.chosen(s) == nullptr) continue;
    if (slot.divided >= 0) {
      const int divided = plan.divided_amounts[slot.divided].demand.class_index;
      add(*found.chosen(s), plan.classes[divided], found.part(s));
    }
    for (const SlotDemand& demand : slot.demands) {
      add(*found.chosen(s), plan.classes[demand.class_index], demand.amount);
    }
  }
  return takes;
}

// How many times the amounts in `takes` can be taken. REQUIRES: they can be taken at least once.
int64_t TimesOf(const std::vector<Take>& takes) {
  int64_t times = std::numeric_limits<int64_t>::max();
  for (const Take& take : takes) {
    const Tree& tree = **take.tree;
    const Amount capacity = tree.config(take.position).inventories[take.row].capacity;
    times = std::min(times, (capacity - tree.used_of(take.position, take.row)) / take.amount);
  }
  return times;
}

class HeadroomCount {
 public:
  HeadroomCount(const State& state, const SearchPlan& plan, int64_t steps_max)
      : plan_(plan),
        steps_{steps_max},
        sharing_(state),
        walk_(state, plan, sharing_, steps_),
        search_(plan, steps_) {}

  Headroom Run(int roots_max) {
    Overlay overlay;  // the claims under all roots visited so far
    while (const TreePtr* tree = walk_.Next()) {
      const int64_t count = CountUnder(*tree);
      if (count > 0) headroom_.roots.push_back({(*tree)->root_id(), count});
      const bool is_apart = walk_.foreign().empty() && !HoldsSharing(**tree);
      headroom_.total_count =
          AddCapped(headroom_.total_count, is_apart ? count : Exhaust(*tree, overlay));
    }
    headroom_.root_count = static_cast<int64_t>(headroom_.roots.size());
    headroom_.truncated = steps_.spent();
    std::sort(headroom_.roots.begin(), headroom_.roots.end(), [](const auto& a, const auto& b) {
      return std::tuple(-a.count, a.root) < std::tuple(-b.count, b.root);
    });
    if (headroom_.roots.size() > static_cast<size_t>(roots_max)) headroom_.roots.resize(roots_max);
    return std::move(headroom_);
  }

 private:
  // How often the request fits under `tree` alone. With only one solution, a division is enough.
  int64_t CountUnder(const TreePtr& tree) {
    if (walk_.found().is_single()) return TimesOf(TakesOf(plan_, walk_.found()));
    Overlay overlay;
    return Exhaust(tree, overlay);
  }

  bool HoldsSharing(const Tree& tree) const {
    if (sharing_.empty()) return false;
    for (int position = 0; position < tree.size(); ++position) {
      if (sharing_.IsSharing(tree.config(position))) return true;
    }
    return false;
  }

  // Claims the first solution under `tree`, with the changes in `overlay`, again and again until
  // nothing fits. Adds these claims to `overlay` and returns their number.
  int64_t Exhaust(const TreePtr& tree, Overlay& overlay) {
    int64_t count = 0;
    while (!steps_.spent()) {
      const TreePtr now = Changed(tree, overlay);
      std::vector<SharingProvider> shared;
      for (const SharingProvider* each : walk_.foreign()) {
        shared.push_back({Changed(each->tree, overlay), each->position, each->id});
      }
      std::vector<const SharingProvider*> foreign;
      foreign.reserve(shared.size());
      for (const SharingProvider& each : shared) foreign.push_back(&each);
      if (!search_.Begin(now, foreign) || !search_.Next()) break;
      const std::vector<Take> takes = TakesOf(plan_, search_);
      // Free amounts only fall, so the first solution stays the first one as long as it fits. It is
      // therefore claimed as often as possible in one step. Exception: free amounts decide how
      // divided amounts are divided, so a solution with divided amounts is claimed only once.
      const int64_t times = plan_.divided_amounts.empty() ? TimesOf(takes) : 1;
      for (const Take& take : takes) Apply(take, times, overlay);
      count = AddCapped(count, times);
    }
    return count;
  }

  static TreePtr Changed(const TreePtr& tree, const Overlay& overlay) {
    const auto changed = overlay.find(tree->root_id());
    return changed == overlay.end() ? tree : changed->second;
  }

  static void Apply(const Take& take, int64_t times, Overlay& overlay) {
    TreePtr& tree = overlay.try_emplace((*take.tree)->root_id(), *take.tree).first->second;
    tree.Own().used[tree->shape->first_row[take.position] + take.row] += take.amount * times;
  }

  const SearchPlan& plan_;
  StepBudget steps_;
  Sharing sharing_;
  RootWalk walk_;
  RootSearch search_;
  Headroom headroom_;
};

}  // namespace

absl::StatusOr<Headroom> CountHeadroom(const State& state, const CandidateRequest& request,
                                       int roots_max, const SearchBudget& budget) {
  BERTH_ASSIGN_OR_RETURN(const SearchPlan plan, PlanSearch(state, request));
  Headroom headroom = HeadroomCount(state, plan, budget.steps_max).Run(roots_max);
  if (headroom.truncated && headroom.total_count == 0) {
    return Refuse(
        absl::StatusCode::kDeadlineExceeded, "SEARCH_BUDGET_EXCEEDED",
        absl::StrCat("the count used up its work budget of ", budget.steps_max,
                     " steps without a result: narrow the query, for example with in_tree"));
  }
  return headroom;
}

}  // namespace berth::placement
