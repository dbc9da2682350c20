#include "placement/explain/funnel.h"

#include <algorithm>
#include <set>
#include <utility>

#include "placement/search/constraint.h"
#include "placement/values/capacity.h"

namespace berth::placement {
namespace {

constexpr size_t kTermsToldApart = 62;  // more are not asked for together
constexpr size_t kReachedMax = 65536;   // sets of terms that are kept

bool IsAmount(const Rung& rung) {
  return rung.constraint.kind == ConstraintKind::kInventory ||
         rung.constraint.kind == ConstraintKind::kFree;
}

}  // namespace

Ladder::Standing Ladder::Begin(const TreePtr& tree) {
  Standing standing;
  standing.tree = tree.get();
  for (int position = 0; position < tree->size(); ++position) {
    standing.servers.push_back({&tree, position, tree->config(position).id, false});
  }
  if (!sharing_.empty()) {
    for (const SharingProvider* each : sharing_.Reaching(*tree)) {
      standing.servers.push_back({&each->tree, each->position, each->id, true});
    }
  }
  std::vector<int> all(standing.servers.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  standing.domains.assign(needs_.size(), all);
  standing.failed.assign(needs_.size(), false);
  return standing;
}

Verdict Ladder::Look(const TreePtr& tree) {
  Verdict verdict;
  Standing standing = Begin(tree);
  const int count = static_cast<int>(rungs_.size());
  verdict.failed = count;
  for (int r = 0; r < count; ++r) {
    const Rung& rung = rungs_[r];
    budget_.left -= static_cast<int64_t>(standing.servers.size());
    bool passes = true;
    if (rung.group >= 0) {
      passes = GroupPasses(r, standing, verdict);
    } else if (rung.search < 0) {
      passes = RootPasses(rung, *tree);
      if (!passes) verdict.failures.push_back({r, 0});
    } else {
      if (verdict.failed < count) break;
      passes = HasSolution(rung.search, tree);
      if (!passes) verdict.failures.push_back({r, 0});
    }
    if (!passes) verdict.failed = std::min(verdict.failed, r);
  }
  return verdict;
}

bool Ladder::RootPasses(const Rung& rung, const Tree& tree) const {
  const ProviderConfig& root = tree.config(0);
  switch (rung.constraint.kind) {
    case ConstraintKind::kRootTraits:
      return HasOneOf(root, rung.traits) != rung.forbids;
    case ConstraintKind::kRootAggregates:
      return IsInNoneOf(root, rung.aggregates.front()) == rung.forbids;
    default:
      return NodeIsInService(state_, root.id) &&
             (!plan_.exclude_stale_roots || !NodeIsStale(state_, root.id));
  }
}

bool Ladder::Concerns(const Rung& rung, const Need& need) const {
  return need.group == rung.group &&
         (!IsAmount(rung) ||
          std::any_of(need.demands.begin(), need.demands.end(), [&rung](const auto& demand) {
            return demand.resource_class == rung.resource_class;
          }));
}

bool Ladder::GroupPasses(int rung, Standing& standing, Verdict& verdict) {
  const Rung& tried = rungs_[rung];
  bool passes = true;
  bool open = false;  // a need that has met all before fails
  Amount available = 0;
  for (size_t n = 0; n < needs_.size(); ++n) {
    if (needs_[n].group == tried.group && standing.failed[n]) passes = false;
    if (!Concerns(tried, needs_[n]) || standing.failed[n]) continue;
    std::vector<int>& domain = standing.domains[n];
    if (IsAmount(tried)) {
      for (int server : domain) {
        available = std::max(available, Gives(tried, standing.servers[server]));
      }
    }
    std::erase_if(domain, [&](int server) {
      return !Serves(tried, needs_[n], standing.servers[server], *standing.tree);
    });
    if (IsEnough(needs_[n], domain, tried, standing)) continue;
    standing.failed[n] = open = true;
    passes = false;
  }
  if (passes && !TraitsCanBeMet(rung, standing)) {
    for (size_t n = 0; n < needs_.size(); ++n) {
      if (needs_[n].group == tried.group) standing.failed[n] = open = true;
    }
    passes = false;
  }
  if (open) verdict.failures.push_back({rung, available});
  return passes;
}

bool Ladder::Serves(const Rung& rung, const Need& need, const Server& server,
                    const Tree& tree) const {
  const ProviderConfig& provider = server.config();
  const PlannedGroup& group = plan_.groups[rung.group];
  const bool alone = group.suffixed();
  switch (rung.constraint.kind) {
    case ConstraintKind::kInTree:
      return (*server.tree)->root_id() == *group.tree && (alone || tree.root_id() == *group.tree);
    case ConstraintKind::kInventory:
    case ConstraintKind::kFree: {
      const int row = provider.FindInventory(rung.resource_class);
      if (row < 0) return false;
      const InventoryRow& offered = provider.inventories[row];
      const Amount amount = rung.constraint.amount;
      if (need.count > 1) {
        return LargestWithin(offered.inventory, std::min(Gives(rung, server), amount)) > 0;
      }
      const bool any_use = rung.constraint.kind == ConstraintKind::kInventory;
      const Amount used = any_use ? 0 : (*server.tree)->used_of(server.position, row);
      return Fits(offered.inventory, offered.capacity, used, amount);
    }
    case ConstraintKind::kRequiredTraits:
      return !alone || HasOneOf(provider, rung.traits);  // P-180; P-186 is TraitsCanBeMet's
    case ConstraintKind::kForbiddenTraits:
      return HasNoneOf(provider, rung.traits);
    case ConstraintKind::kMemberOf:
      return IsInOneOfEach(provider, rung.aggregates) ||
             (!alone && !server.foreign && IsInOneOfEach(tree.config(0), rung.aggregates));
    default:
      return IsInNoneOf(provider, rung.aggregates.front()) &&
             (alone || IsInNoneOf(tree.config(0), rung.aggregates.front()));
  }
}

// The most of the class that `server` gives: of what it has in all, or of what is free.
Amount Ladder::Gives(const Rung& rung, const Server& server) const {
  const int row = server.config().FindInventory(rung.resource_class);
  if (row < 0) return 0;
  const InventoryRow& offered = server.config().inventories[row];
  const bool any_use = rung.constraint.kind == ConstraintKind::kInventory;
  const Amount room = any_use ? std::max<Amount>(offered.capacity, 0)
                              : RoomFor(**server.tree, server.position, row);
  return LargestWithin(offered.inventory, room);
}

bool Ladder::IsEnough(const Need& need, const std::vector<int>& domain, const Rung& rung,
                      const Standing& standing) const {
  if (domain.empty()) return false;  // P-194
  if (need.count == 1 || !IsAmount(rung)) return true;
  std::vector<Amount> parts;
  parts.reserve(domain.size());
  for (int server : domain) parts.push_back(Gives(rung, standing.servers[server]));
  std::sort(parts.rbegin(), parts.rend());
  Amount sum = 0;
  for (size_t i = 0; i < parts.size() && i < static_cast<size_t>(need.count); ++i) sum += parts[i];
  return sum >= rung.constraint.amount;
}

// P-186: whether servers of the unsuffixed group can be chosen that have all traits asked for up to
// `rung` between them.
bool Ladder::TraitsCanBeMet(int rung, const Standing& standing) const {
  const int group = rungs_[rung].group;
  if (plan_.groups[group].suffixed()) return true;
  const auto is_term = [group](const Rung& each) {
    return each.group == group && each.constraint.kind == ConstraintKind::kRequiredTraits;
  };
  const auto terms =
      static_cast<size_t>(std::count_if(rungs_.begin(), rungs_.begin() + rung + 1, is_term));
  if (terms == 0) return true;
  const TraitSets& required = plan_.groups[group].required;
  std::set<uint64_t> reached = {0};  // which terms are met, one bit each
  for (size_t n = 0; n < needs_.size(); ++n) {
    if (needs_[n].group != group) continue;
    std::set<uint64_t> masks;
    for (int server : standing.domains[n]) {
      uint64_t mask = 0;
      for (size_t term = 0; term < std::min(terms, kTermsToldApart); ++term) {
        const bool met = HasOneOf(standing.servers[server].config(), required[term]);
        mask |= static_cast<uint64_t>(met) << term;
      }
      masks.insert(mask);
    }
    for (int i = 0; i < needs_[n].count; ++i) {
      std::set<uint64_t> further;
      for (uint64_t before : reached) {
        budget_.left -= static_cast<int64_t>(masks.size());
        if (further.size() > kReachedMax && !plan_.slots_interact) budget_.left = 0;
        // Where slots interact the last rung, a search of the whole plan, says what this one cannot.
        if (budget_.spent() || further.size() > kReachedMax) return true;
        for (uint64_t mask : masks) further.insert(before | mask);
      }
      reached = std::move(further);
    }
  }
  const uint64_t all = (uint64_t{1} << std::min(terms, kTermsToldApart)) - 1;
  return reached.contains(all);
}

bool Ladder::HasSolution(int search, const TreePtr& tree) {
  std::vector<const SharingProvider*> foreign;
  if (!sharing_.empty()) foreign = sharing_.Reaching(*tree);
  return searches_[search]->Begin(tree, foreign) && searches_[search]->Next();
}

Amount Ladder::MostOtherwise(const TreePtr& tree, const Rung& rung, Amount below) {
  Standing standing = Begin(tree);
  Verdict verdict;
  for (int r = 0; r < static_cast<int>(rungs_.size()); ++r) {
    const Rung& other = rungs_[r];
    if (other.search >= 0) break;
    budget_.left -= static_cast<int64_t>(standing.servers.size());
    const bool skipped =
        IsAmount(other) && other.group == rung.group && other.resource_class == rung.resource_class;
    if (skipped) continue;
    const bool passes =
        other.group >= 0 ? GroupPasses(r, standing, verdict) : RootPasses(other, *tree);
    if (!passes) return 0;
  }
  Amount most = 0;
  for (size_t n = 0; n < needs_.size(); ++n) {
    if (!Concerns(rung, needs_[n]) || needs_[n].count > 1) continue;
    for (int server : standing.domains[n]) {
      const Server& each = standing.servers[server];
      const int row = each.config().FindInventory(rung.resource_class);
      if (row < 0) continue;
      const Amount room = std::min(RoomFor(**each.tree, each.position, row), below - 1);
      most = std::max(most, LargestWithin(each.config().inventories[row].inventory, room));
    }
  }
  return most;
}

}  // namespace berth::placement
