// The methods of RootSearch that test whether the slots without a choice, i.e. the slots from
// `from` on, can still be served.
#include <algorithm>
#include <iterator>
#include <limits>

#include "placement/search/root_search.h"

namespace berth::placement {

bool RootSearch::CanEndWell(int from) {
  if (!plan_.slots_interact) return RequiredTraitsCanBeMet(from);
  return FindRemaining(from) && RequiredTraitsCanBeMet(from) && SubtreesCanBeShared(from) &&
         SetsCanBePlaced(from) && AmountsCanBePlaced(from) && DividedAmountsCanBeMet(from);
}

// Fills remaining_ for the slots from `from` on. Returns false if a slot has no option left.
bool RootSearch::FindRemaining(int from) {
  for (int slot = from; slot < slot_count(); ++slot) {
    std::vector<int>& remaining = remaining_[slot];
    remaining.clear();
    for (int option : domains_[slot]) {
      if (Allows(slot, option)) remaining.push_back(option);
    }
    if (remaining.empty()) return false;
  }
  return true;
}

// Whether each required term (a set of alternative traits, P-186) of the unsuffixed group is met by
// an option that is already chosen, or by one that a slot from `from` on can still choose.
bool RootSearch::RequiredTraitsCanBeMet(int from) const {
  for (size_t set = 0; set < covered_.size(); ++set) {
    bool met = covered_[set] > 0;
    for (int slot = from; !met && slot < slot_count(); ++slot) {
      if (IsSuffixed(slot)) continue;
      const std::vector<int>& remaining = Remaining(slot);
      met = std::any_of(remaining.begin(), remaining.end(),
                        [&](int option) { return has_required_[option * covered_.size() + set]; });
    }
    if (!met) return false;
  }
  return true;
}

bool RootSearch::IsUnder(int option, int top) const {
  const Option& below = options_[option];
  const Option& above = options_[top];
  return *below.tree == *above.tree &&
         (*above.tree)->IsAncestorOrSelf(above.position, below.position);
}

// Whether each of `slots` has chosen, or can still choose, an option at or under the option `top`.
bool RootSearch::CanBeUnder(int top, const std::vector<int>& slots, int from) const {
  return std::all_of(slots.begin(), slots.end(), [&](int slot) {
    if (slot < from) return IsUnder(chosen_[slot], top);
    return std::any_of(remaining_[slot].begin(), remaining_[slot].end(),
                       [&](int option) { return IsUnder(option, top); });
  });
}

// Whether each set of plan.subtrees has a chosen or remaining option `top`, such that every slot of
// the set has chosen, or can still choose, an option at or under `top` (P-198).
bool RootSearch::SubtreesCanBeShared(int from) const {
  for (const std::vector<int>& slots : plan_.subtrees) {
    const bool shared = std::any_of(slots.begin(), slots.end(), [&](int slot) {
      if (slot < from) return CanBeUnder(chosen_[slot], slots, from);
      return std::any_of(remaining_[slot].begin(), remaining_[slot].end(),
                         [&](int option) { return CanBeUnder(option, slots, from); });
    });
    if (!shared) return false;
  }
  return true;
}

// Returns false if a set of plan.apart or plan.separate cannot be served. The slots of a set in
// plan.apart need different options (P-196); a matching of slots with options shows whether there
// are enough. Slots of plan.separate are matched with lowest providers instead (LowestRemaining).
bool RootSearch::SetsCanBePlaced(int from) {
  const auto open_slots = [from](const std::vector<int>& set) {
    std::vector<int> slots;
    std::copy_if(set.begin(), set.end(), std::back_inserter(slots),
                 [from](int slot) { return slot >= from; });
    return slots;
  };
  places_.assign(options_.size(), 1);
  for (const std::vector<int>& set : plan_.apart) {
    if (!CanPlace(open_slots(set), remaining_)) return false;
  }
  for (const std::vector<int>& set : plan_.separate) {
    const std::vector<int> slots = open_slots(set);
    if (slots.size() > 1 && !CanPlace(slots, LowestRemaining(slots))) return false;
  }
  return true;
}

// For each of `slots`: the lowest providers at or under the slot's remaining options. A provider is
// lowest if no other remaining option of `slots` is under it. Providers in separate subtrees have
// no lowest provider in common. So if the slots cannot have a different lowest provider each, they
// cannot be separate. Example: two slots can both choose the host or its only NUMA node. The lowest
// provider of both options is that node, so there is no solution. The result is indexed by slot; it
// is empty for a slot that is not in `slots`.
std::vector<std::vector<int>> RootSearch::LowestRemaining(const std::vector<int>& slots) const {
  std::vector<int> all;
  for (int slot : slots) all.insert(all.end(), remaining_[slot].begin(), remaining_[slot].end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<int> lowest;
  std::copy_if(all.begin(), all.end(), std::back_inserter(lowest), [&](int option) {
    return std::none_of(all.begin(), all.end(),
                        [&](int other) { return other != option && IsUnder(other, option); });
  });
  std::vector<std::vector<int>> remaining(plan_.slots.size());
  for (int slot : slots) {
    std::copy_if(lowest.begin(), lowest.end(), std::back_inserter(remaining[slot]),
                 [&](int option) {
                   return std::any_of(remaining_[slot].begin(), remaining_[slot].end(),
                                      [&](int other) { return IsUnder(option, other); });
                 });
  }
  return remaining;
}

// Returns false if the options have too little of a class for all slots that ask for it (P-197).
// The number of these slots that an option can serve is at most the option's free amount divided by
// the smallest amount asked for. If the amounts differ, the true number may be smaller. The test
// then returns true for some branches that have no solution.
bool RootSearch::AmountsCanBePlaced(int from) {
  if (!plan_.amounts_add_up) return true;
  for (int c = 0; c < static_cast<int>(plan_.classes.size()); ++c) {
    std::vector<int> slots;
    Amount smallest = std::numeric_limits<Amount>::max();
    for (int slot = from; slot < slot_count(); ++slot) {
      for (const SlotDemand& demand : plan_.slots[slot].demands) {
        if (demand.class_index != c) continue;
        slots.push_back(slot);
        smallest = std::min(smallest, demand.amount);
      }
    }
    if (slots.size() < 2) continue;
    places_.resize(options_.size());
    for (size_t s = 0; s < options_.size(); ++s) {
      places_[s] = room(static_cast<int>(s), c) / smallest;
    }
    if (!CanPlace(slots, remaining_)) return false;
  }
  return true;
}

// Whether each of `slots` can get one of its remaining options, if each option serves no more slots
// than places_ says.
bool RootSearch::CanPlace(const std::vector<int>& slots,
                          const std::vector<std::vector<int>>& remaining) {
  if (slots.size() < 2) return true;
  placed_.resize(std::max(placed_.size(), options_.size()));
  for (std::vector<int>& placed : placed_) placed.clear();
  for (int slot : slots) {
    std::vector<bool> tried(options_.size(), false);
    if (!Place(slot, remaining, tried)) return false;
  }
  return true;
}

// Gives `slot` an option, and moves other slots to other options if necessary (an augmenting path
// of the matching). Returns false if that is impossible. `tried`: the options that were tried
// already; this limits the depth of the recursion to the number of options.
bool RootSearch::Place(int slot, const std::vector<std::vector<int>>& remaining,
                       std::vector<bool>& tried) {
  for (int option : remaining[slot]) {
    if (tried[option]) continue;
    --budget_.left;
    tried[option] = true;
    std::vector<int>& placed = placed_[option];
    if (static_cast<int64_t>(placed.size()) < places_[option]) {
      placed.push_back(slot);
      return true;
    }
    for (int& other : placed) {
      if (!Place(other, remaining, tried)) continue;
      other = slot;
      return true;
    }
  }
  return false;
}

}  // namespace berth::placement
