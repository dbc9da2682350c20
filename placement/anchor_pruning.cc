// AnchorSearch: whether the slots that have no choice yet can still be served.
#include <algorithm>
#include <limits>

#include "placement/anchor_search.h"

namespace berth::placement {

bool AnchorSearch::CanEndWell(int from) {
  if (!RequiredTraitsCanBeMet(from)) return false;
  if (!plan_.slots_interact) return true;
  return EachSlotHasAServer(from) && SubtreesCanBeShared(from) && IsolatedCanBePlaced(from) &&
         AmountsCanBePlaced(from);
}

bool AnchorSearch::EachSlotHasAServer(int from) const {
  for (int slot = from; slot < slot_count(); ++slot) {
    const std::vector<int>& domain = domains_[slot];
    if (std::none_of(domain.begin(), domain.end(),
                     [&](int server) { return Allows(slot, server); })) {
      return false;
    }
  }
  return true;
}

// P-186: each set is met by a provider that serves the unsuffixed group, or still can be.
bool AnchorSearch::RequiredTraitsCanBeMet(int from) const {
  for (size_t set = 0; set < covered_.size(); ++set) {
    bool met = covered_[set] > 0;
    for (int slot = from; !met && slot < slot_count(); ++slot) {
      if (IsSuffixed(slot)) continue;
      const std::vector<int>& domain = domains_[slot];
      met = std::any_of(domain.begin(), domain.end(), [&](int server) {
        return has_required_[server * covered_.size() + set] && Allows(slot, server);
      });
    }
    if (!met) return false;
  }
  return true;
}

bool AnchorSearch::IsUnder(int server, int top) const {
  const Server& below = servers_[server];
  const Server& above = servers_[top];
  return *below.tree == *above.tree &&
         (*above.tree)->IsAncestorOrSelf(above.position, below.position);
}

// Whether all of `slots` are, or can still be, served at or under `top`.
bool AnchorSearch::CanBeUnder(int top, const std::vector<int>& slots, int from) const {
  return std::all_of(slots.begin(), slots.end(), [&](int slot) {
    if (slot < from) return IsUnder(chosen_[slot], top);
    const std::vector<int>& domain = domains_[slot];
    return std::any_of(domain.begin(), domain.end(),
                       [&](int server) { return IsUnder(server, top) && Allows(slot, server); });
  });
}

// P-198: of the providers that serve a set, one stands at or above all.
bool AnchorSearch::SubtreesCanBeShared(int from) const {
  for (const std::vector<int>& slots : plan_.subtrees) {
    const bool shared = std::any_of(slots.begin(), slots.end(), [&](int slot) {
      if (slot < from) return CanBeUnder(chosen_[slot], slots, from);
      const std::vector<int>& domain = domains_[slot];
      return std::any_of(domain.begin(), domain.end(), [&](int server) {
        return Allows(slot, server) && CanBeUnder(server, slots, from);
      });
    });
    if (!shared) return false;
  }
  return true;
}

// Isolated slots need a server each (P-196): a matching proves at once that there are too few.
bool AnchorSearch::IsolatedCanBePlaced(int from) {
  if (!plan_.isolate) return true;
  std::vector<int> slots;
  for (int slot = from; slot < slot_count(); ++slot) {
    if (IsSuffixed(slot)) slots.push_back(slot);
  }
  places_.assign(servers_.size(), 1);
  return CanPlace(slots);
}

// Slots that ask for one class share its room (P-197). A server takes no more of them than its room
// divided by the smallest of their amounts: exact where the amounts are equal, else a bound.
bool AnchorSearch::AmountsCanBePlaced(int from) {
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
    if (!CanPlace(slots)) return false;
  }
  return true;
}

// Whether `slots` find servers so that none takes more than its places.
bool AnchorSearch::CanPlace(const std::vector<int>& slots) {
  if (slots.size() < 2) return true;
  placed_.resize(std::max(placed_.size(), servers_.size()));
  for (std::vector<int>& placed : placed_) placed.clear();
  for (int slot : slots) {
    std::vector<bool> tried(servers_.size(), false);
    if (!Place(slot, tried)) return false;
  }
  return true;
}

// One augmenting path: puts `slot` somewhere, moving others where that makes room. It is no deeper
// than there are servers, since none is tried twice.
bool AnchorSearch::Place(int slot, std::vector<bool>& tried) {
  for (int server : domains_[slot]) {
    if (tried[server] || !Allows(slot, server)) continue;
    --budget_.left;
    tried[server] = true;
    std::vector<int>& placed = placed_[server];
    if (static_cast<int64_t>(placed.size()) < places_[server]) {
      placed.push_back(slot);
      return true;
    }
    for (int& other : placed) {
      if (!Place(other, tried)) continue;
      other = slot;
      return true;
    }
  }
  return false;
}

}  // namespace berth::placement
