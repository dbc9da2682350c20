// RootSearch: whether the slots that have no choice yet can still be served.
#include <algorithm>
#include <iterator>
#include <limits>

#include "placement/search/root_search.h"

namespace berth::placement {

bool RootSearch::CanEndWell(int from) {
  if (!plan_.slots_interact) return RequiredTraitsCanBeMet(from);
  return FindOptions(from) && RequiredTraitsCanBeMet(from) && SubtreesCanBeShared(from) &&
         SetsCanBePlaced(from) && AmountsCanBePlaced(from) && DividedAmountsCanBeMet(from);
}

// What each slot could still choose; false: one has nothing left.
bool RootSearch::FindOptions(int from) {
  for (int slot = from; slot < slot_count(); ++slot) {
    std::vector<int>& options = options_[slot];
    options.clear();
    for (int server : domains_[slot]) {
      if (Allows(slot, server)) options.push_back(server);
    }
    if (options.empty()) return false;
  }
  return true;
}

// P-186: each set is met by a provider that serves the unsuffixed group, or still can be.
bool RootSearch::RequiredTraitsCanBeMet(int from) const {
  for (size_t set = 0; set < covered_.size(); ++set) {
    bool met = covered_[set] > 0;
    for (int slot = from; !met && slot < slot_count(); ++slot) {
      if (IsSuffixed(slot)) continue;
      const std::vector<int>& options = Options(slot);
      met = std::any_of(options.begin(), options.end(),
                        [&](int server) { return has_required_[server * covered_.size() + set]; });
    }
    if (!met) return false;
  }
  return true;
}

bool RootSearch::IsUnder(int server, int top) const {
  const Server& below = servers_[server];
  const Server& above = servers_[top];
  return *below.tree == *above.tree &&
         (*above.tree)->IsAncestorOrSelf(above.position, below.position);
}

// Whether all of `slots` are, or can still be, served at or under `top`.
bool RootSearch::CanBeUnder(int top, const std::vector<int>& slots, int from) const {
  return std::all_of(slots.begin(), slots.end(), [&](int slot) {
    if (slot < from) return IsUnder(chosen_[slot], top);
    return std::any_of(options_[slot].begin(), options_[slot].end(),
                       [&](int server) { return IsUnder(server, top); });
  });
}

// P-198: of the providers that serve a set, one stands at or above all.
bool RootSearch::SubtreesCanBeShared(int from) const {
  for (const std::vector<int>& slots : plan_.subtrees) {
    const bool shared = std::any_of(slots.begin(), slots.end(), [&](int slot) {
      if (slot < from) return CanBeUnder(chosen_[slot], slots, from);
      return std::any_of(options_[slot].begin(), options_[slot].end(),
                         [&](int server) { return CanBeUnder(server, slots, from); });
    });
    if (!shared) return false;
  }
  return true;
}

// Slots that keep apart need a server each (P-196): a matching proves at once that there are too
// few. Those that keep to separate subtrees need the more.
bool RootSearch::SetsCanBePlaced(int from) {
  const auto open_slots = [from](const std::vector<int>& set) {
    std::vector<int> slots;
    std::copy_if(set.begin(), set.end(), std::back_inserter(slots),
                 [from](int slot) { return slot >= from; });
    return slots;
  };
  places_.assign(servers_.size(), 1);
  for (const std::vector<int>& set : plan_.apart) {
    if (!CanPlace(open_slots(set), options_)) return false;
  }
  for (const std::vector<int>& set : plan_.separate) {
    const std::vector<int> slots = open_slots(set);
    if (slots.size() > 1 && !CanPlace(slots, LowestOptions(slots))) return false;
  }
  return true;
}

// The options of `slots`, each replaced by the lowest of all options that stand at or under it.
// Providers of which none is under another have no such in common: where the slots cannot have one
// each, they cannot keep to separate subtrees. By slot; others are empty.
std::vector<std::vector<int>> RootSearch::LowestOptions(const std::vector<int>& slots) const {
  std::vector<int> all;
  for (int slot : slots) all.insert(all.end(), options_[slot].begin(), options_[slot].end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<int> lowest;
  std::copy_if(all.begin(), all.end(), std::back_inserter(lowest), [&](int server) {
    return std::none_of(all.begin(), all.end(),
                        [&](int other) { return other != server && IsUnder(other, server); });
  });
  std::vector<std::vector<int>> options(plan_.slots.size());
  for (int slot : slots) {
    std::copy_if(lowest.begin(), lowest.end(), std::back_inserter(options[slot]), [&](int server) {
      return std::any_of(options_[slot].begin(), options_[slot].end(),
                         [&](int option) { return IsUnder(server, option); });
    });
  }
  return options;
}

// Slots that ask for one class share its room (P-197). A server takes no more of them than its room
// divided by the smallest of their amounts: exact where the amounts are equal, else a bound.
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
    places_.resize(servers_.size());
    for (size_t s = 0; s < servers_.size(); ++s) {
      places_[s] = room(static_cast<int>(s), c) / smallest;
    }
    if (!CanPlace(slots, options_)) return false;
  }
  return true;
}

// Whether `slots` find servers among their options so that none takes more than its places.
bool RootSearch::CanPlace(const std::vector<int>& slots,
                          const std::vector<std::vector<int>>& options) {
  if (slots.size() < 2) return true;
  placed_.resize(std::max(placed_.size(), servers_.size()));
  for (std::vector<int>& placed : placed_) placed.clear();
  for (int slot : slots) {
    std::vector<bool> tried(servers_.size(), false);
    if (!Place(slot, options, tried)) return false;
  }
  return true;
}

// One augmenting path: puts `slot` somewhere, moving others where that makes room. It is no deeper
// than there are servers, since none is tried twice.
bool RootSearch::Place(int slot, const std::vector<std::vector<int>>& options,
                       std::vector<bool>& tried) {
  for (int server : options[slot]) {
    if (tried[server]) continue;
    --budget_.left;
    tried[server] = true;
    std::vector<int>& placed = placed_[server];
    if (static_cast<int64_t>(placed.size()) < places_[server]) {
      placed.push_back(slot);
      return true;
    }
    for (int& other : placed) {
      if (!Place(other, options, tried)) continue;
      other = slot;
      return true;
    }
  }
  return false;
}

}  // namespace berth::placement
