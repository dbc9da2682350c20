#include "placement/explain/funnel.h"

#include <algorithm>
#include <set>
#include <utility>

#include "placement/search/constraint.h"
#include "placement/values/capacity.h"

namespace berth::placement {
namespace {

constexpr size_t kTermsTested = 62;    // the most required terms that are tested
constexpr size_t kReachedMax = 65536;  // sets of met terms that TraitsCanBeMet keeps

bool IsAmount(const FunnelStep& step) {
  return step.constraint.kind == ConstraintKind::kInventory ||
         step.constraint.kind == ConstraintKind::kFree;
}

}  // namespace

Funnel::Standing Funnel::Begin(const TreePtr& tree) {
  Standing standing;
  standing.tree = tree.get();
  for (int position = 0; position < tree->size(); ++position) {
    standing.options.push_back({&tree, position, tree->config(position).id, false});
  }
  if (!sharing_.empty()) {
    for (const SharingProvider* each : sharing_.Reaching(*tree)) {
      standing.options.push_back({&each->tree, each->position, each->id, true});
    }
  }
  std::vector<int> all(standing.options.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  standing.domains.assign(needs_.size(), all);
  standing.failed.assign(needs_.size(), false);
  return standing;
}

Reach Funnel::Look(const TreePtr& tree) {
  Reach reach;
  Standing standing = Begin(tree);
  const int count = static_cast<int>(steps_.size());
  reach.failed = count;
  for (int r = 0; r < count; ++r) {
    const FunnelStep& step = steps_[r];
    budget_.left -= static_cast<int64_t>(standing.options.size());
    bool passes = true;
    if (step.group >= 0) {
      passes = GroupPasses(r, standing, reach);
    } else if (step.search < 0) {
      passes = RootPasses(step, *tree);
      if (!passes) reach.failures.push_back({r, 0});
    } else {
      if (reach.failed < count) break;
      passes = HasSolution(step.search, tree);
      if (!passes) reach.failures.push_back({r, 0});
    }
    if (!passes) reach.failed = std::min(reach.failed, r);
  }
  return reach;
}

bool Funnel::RootPasses(const FunnelStep& step, const Tree& tree) const {
  const ProviderConfig& root = tree.config(0);
  switch (step.constraint.kind) {
    case ConstraintKind::kRootTraits:
      return HasOneOf(root, step.traits) != step.forbids;
    case ConstraintKind::kRootAggregates:
      return IsInNoneOf(root, step.aggregates.front()) == step.forbids;
    case ConstraintKind::kForbiddenRoots:
      return !IsForbiddenRoot(plan_.root, root.id);
    default:
      return NodeMayServe(state_, root.id, plan_.exclude_stale_roots);
  }
}

bool Funnel::Concerns(const FunnelStep& step, const Need& need) const {
  return need.group == step.group &&
         (!IsAmount(step) ||
          std::any_of(need.demands.begin(), need.demands.end(), [&step](const auto& demand) {
            return demand.resource_class == step.resource_class;
          }));
}

bool Funnel::GroupPasses(int step, Standing& standing, Reach& reach) {
  const FunnelStep& tried = steps_[step];
  bool passes = true;
  bool open = false;  // a need that passed all earlier steps fails this one
  Amount available = 0;
  for (size_t n = 0; n < needs_.size(); ++n) {
    if (needs_[n].group == tried.group && standing.failed[n]) passes = false;
    if (!Concerns(tried, needs_[n]) || standing.failed[n]) continue;
    std::vector<int>& domain = standing.domains[n];
    if (IsAmount(tried)) {
      for (int option : domain) {
        available = std::max(available, Gives(tried, standing.options[option]));
      }
    }
    std::erase_if(domain, [&](int option) {
      return !Serves(tried, needs_[n], standing.options[option], *standing.tree);
    });
    if (IsEnough(needs_[n], domain, tried, standing)) continue;
    standing.failed[n] = open = true;
    passes = false;
  }
  if (passes && !TraitsCanBeMet(step, standing)) {
    for (size_t n = 0; n < needs_.size(); ++n) {
      if (needs_[n].group == tried.group) standing.failed[n] = open = true;
    }
    passes = false;
  }
  if (open) reach.failures.push_back({step, available});
  return passes;
}

bool Funnel::Serves(const FunnelStep& step, const Need& need, const Option& option,
                    const Tree& tree) const {
  const ProviderConfig& provider = option.config();
  const PlannedGroup& group = plan_.groups[step.group];
  const bool alone = group.suffixed();
  switch (step.constraint.kind) {
    case ConstraintKind::kInTree:
      return (*option.tree)->root_id() == *group.tree && (alone || tree.root_id() == *group.tree);
    case ConstraintKind::kInventory:
    case ConstraintKind::kFree: {
      const int row = provider.FindInventory(step.resource_class);
      if (row < 0) return false;
      const InventoryRow& offered = provider.inventories[row];
      const Amount amount = step.constraint.amount;
      if (need.count > 1) {
        return LargestWithin(offered.inventory, std::min(Gives(step, option), amount)) > 0;
      }
      const bool any_use = step.constraint.kind == ConstraintKind::kInventory;
      const Amount used = any_use ? 0 : (*option.tree)->used_of(option.position, row);
      return Fits(offered.inventory, offered.capacity, used, amount);
    }
    case ConstraintKind::kRequiredTraits:
      return !alone || HasOneOf(provider, step.traits);  // P-180; TraitsCanBeMet tests P-186
    case ConstraintKind::kForbiddenTraits:
      return HasNoneOf(provider, step.traits);
    case ConstraintKind::kMemberOf:
      return IsInOneOfEach(provider, step.aggregates) ||
             (!alone && !option.foreign && IsInOneOfEach(tree.config(0), step.aggregates));
    default:
      return IsInNoneOf(provider, step.aggregates.front()) &&
             (alone || IsInNoneOf(tree.config(0), step.aggregates.front()));
  }
}

// Returns the most that `option` can give in one allocation of the class of `step`. A kInventory
// step counts the whole inventory as free. Any other step counts only what is free now.
Amount Funnel::Gives(const FunnelStep& step, const Option& option) const {
  const int row = option.config().FindInventory(step.resource_class);
  if (row < 0) return 0;
  const InventoryRow& offered = option.config().inventories[row];
  const bool any_use = step.constraint.kind == ConstraintKind::kInventory;
  const Amount room = any_use ? std::max<Amount>(offered.capacity, 0)
                              : RoomFor(**option.tree, option.position, row);
  return LargestWithin(offered.inventory, room);
}

bool Funnel::IsEnough(const Need& need, const std::vector<int>& domain, const FunnelStep& step,
                      const Standing& standing) const {
  if (domain.empty()) return false;  // P-194
  if (need.count == 1 || !IsAmount(step)) return true;
  std::vector<Amount> parts;
  parts.reserve(domain.size());
  for (int option : domain) parts.push_back(Gives(step, standing.options[option]));
  std::sort(parts.rbegin(), parts.rend());
  Amount sum = 0;
  for (size_t i = 0; i < parts.size() && i < static_cast<size_t>(need.count); ++i) sum += parts[i];
  return sum >= step.constraint.amount;
}

// Whether options can be chosen for the needs of the unsuffixed group that together meet every
// required term of the steps up to `step` (P-186). Goes from need to need, and keeps the sets of
// terms that can be met with options for the needs so far.
bool Funnel::TraitsCanBeMet(int step, const Standing& standing) const {
  const int group = steps_[step].group;
  if (plan_.groups[group].suffixed()) return true;
  const auto is_term = [group](const FunnelStep& each) {
    return each.group == group && each.constraint.kind == ConstraintKind::kRequiredTraits;
  };
  const auto terms =
      static_cast<size_t>(std::count_if(steps_.begin(), steps_.begin() + step + 1, is_term));
  if (terms == 0) return true;
  const TraitSets& required = plan_.groups[group].required;
  std::set<uint64_t> reached = {0};  // which terms are met, one bit each
  for (size_t n = 0; n < needs_.size(); ++n) {
    if (needs_[n].group != group) continue;
    std::set<uint64_t> masks;
    for (int option : standing.domains[n]) {
      uint64_t mask = 0;
      for (size_t term = 0; term < std::min(terms, kTermsTested); ++term) {
        const bool met = HasOneOf(standing.options[option].config(), required[term]);
        mask |= static_cast<uint64_t>(met) << term;
      }
      masks.insert(mask);
    }
    for (int i = 0; i < needs_[n].count; ++i) {
      std::set<uint64_t> further;
      for (uint64_t before : reached) {
        budget_.left -= static_cast<int64_t>(masks.size());
        if (further.size() > kReachedMax && !plan_.slots_interact) budget_.left = 0;
        // Too many sets of met terms: returns true, which may be wrong. If slots interact, the last
        // step corrects this by a search for the whole plan. Otherwise the budget was set to spent
        // above. Once the budget is spent, the explanation ends and is marked as truncated.
        if (budget_.spent() || further.size() > kReachedMax) return true;
        for (uint64_t mask : masks) further.insert(before | mask);
      }
      reached = std::move(further);
    }
  }
  const uint64_t all = (uint64_t{1} << std::min(terms, kTermsTested)) - 1;
  return reached.contains(all);
}

bool Funnel::HasSolution(int search, const TreePtr& tree) {
  std::vector<const SharingProvider*> foreign;
  if (!sharing_.empty()) foreign = sharing_.Reaching(*tree);
  return searches_[search]->Begin(tree, foreign) && searches_[search]->Next();
}

Amount Funnel::MostOtherwise(const TreePtr& tree, const FunnelStep& step, Amount below) {
  Standing standing = Begin(tree);
  Reach reach;
  for (int r = 0; r < static_cast<int>(steps_.size()); ++r) {
    const FunnelStep& other = steps_[r];
    if (other.search >= 0) break;
    budget_.left -= static_cast<int64_t>(standing.options.size());
    const bool skipped =
        IsAmount(other) && other.group == step.group && other.resource_class == step.resource_class;
    if (skipped) continue;
    const bool passes =
        other.group >= 0 ? GroupPasses(r, standing, reach) : RootPasses(other, *tree);
    if (!passes) return 0;
  }
  Amount most = 0;
  for (size_t n = 0; n < needs_.size(); ++n) {
    if (!Concerns(step, needs_[n]) || needs_[n].count > 1) continue;
    for (int option : standing.domains[n]) {
      const Option& each = standing.options[option];
      const int row = each.config().FindInventory(step.resource_class);
      if (row < 0) continue;
      const Amount room = std::min(RoomFor(**each.tree, each.position, row), below - 1);
      most = std::max(most, LargestWithin(each.config().inventories[row].inventory, room));
    }
  }
  return most;
}

}  // namespace berth::placement
