#include "placement/anchor_search.h"

#include "placement/check.h"

namespace berth::placement {

AnchorSearch::AnchorSearch(const SearchPlan& plan, StepBudget& budget)
    : plan_(plan),
      budget_(budget),
      domains_(plan.slots.size()),
      shares_(plan.slots.size(), 0),
      apart_of_(plan.slots.size()),
      separate_of_(plan.slots.size()),
      options_(plan.slots.size()) {
  const auto note = [](const std::vector<std::vector<int>>& sets, auto& sets_of) {
    for (int set = 0; set < static_cast<int>(sets.size()); ++set) {
      for (int slot : sets[set]) sets_of[slot].push_back(set);
    }
  };
  note(plan.apart, apart_of_);
  note(plan.separate, separate_of_);
}

bool AnchorSearch::Begin(const TreePtr& anchor,
                         const std::vector<const SharingProvider*>& foreign) {
  anchor_ = &anchor;
  begun_ = false;
  ListServers(foreign);
  if (!FillDomains()) return false;
  single_ = true;
  for (const std::vector<int>& domain : domains_) single_ &= domain.size() == 1;
  next_.assign(plan_.slots.size(), 0);
  chosen_.assign(plan_.slots.size(), kOpen);
  if (plan_.slots_interact) {
    occupied_.assign(plan_.apart.size() * servers_.size(), 0);
    MeasureRoom();
  }
  NoteRequired();
  return CanEndWell(0);
}

bool AnchorSearch::Next() {
  int slot = begun_ ? slot_count() - 1 : 0;
  begun_ = true;
  while (slot >= 0) {
    if (chosen_[slot] != kOpen) Undo(slot);
    if (!Advance(slot)) {
      if (budget_.spent()) return false;
      --slot;
      continue;
    }
    if (slot == slot_count() - 1) return true;
    ++slot;
    next_[slot] = FirstOption(slot);
  }
  return false;
}

// Where in its domain a slot begins: not before its twin, since to swap the two would give the same
// allocations again.
int AnchorSearch::FirstOption(int slot) const {
  if (plan_.twin_of.empty() || plan_.twin_of[slot] < 0) return 0;
  return next_[plan_.twin_of[slot]] - 1;
}

bool AnchorSearch::Advance(int slot) {
  if (plan_.slots[slot].spread >= 0) return AdvanceShare(slot);
  const std::vector<int>& domain = domains_[slot];
  int& next = next_[slot];
  while (next < static_cast<int>(domain.size())) {
    if (budget_.spent()) return false;
    --budget_.left;
    const int server = domain[next++];
    if (!Allows(slot, server)) continue;
    Choose(slot, server);
    if (CanEndWell(slot + 1)) return true;
    Undo(slot);
  }
  return false;
}

bool AnchorSearch::Allows(int slot, int server) const {
  if (!plan_.slots_interact) return true;
  if (!StandsApart(slot, server)) return false;
  if (!plan_.amounts_add_up) return true;
  for (const SlotDemand& demand : plan_.slots[slot].demands) {
    if (room(server, demand.class_index) < demand.amount) return false;  // P-197
  }
  return true;
}

// What the sets of the slot ask of providers that others of the set chose.
bool AnchorSearch::StandsApart(int slot, int server) const {
  for (int set : apart_of_[slot]) {
    if (occupied_[set * servers_.size() + server] > 0) return false;  // P-196
  }
  for (int set : separate_of_[slot]) {
    for (int other : plan_.separate[set]) {
      const int chosen = chosen_[other];
      if (chosen >= 0 && (IsUnder(server, chosen) || IsUnder(chosen, server))) return false;
    }
  }
  return true;
}

void AnchorSearch::Choose(int slot, int server) {
  BERTH_CHECK(chosen_[slot] == kOpen);
  chosen_[slot] = server;
  if (server == kNobody) return;
  if (plan_.slots_interact) {
    for (int set : apart_of_[slot]) ++occupied_[set * servers_.size() + server];
    for (const SlotDemand& demand : plan_.slots[slot].demands) {
      room(server, demand.class_index) -= demand.amount;
    }
  }
  if (covered_.empty() || IsSuffixed(slot)) return;
  for (size_t set = 0; set < covered_.size(); ++set) {
    covered_[set] += has_required_[server * covered_.size() + set];
  }
}

void AnchorSearch::Undo(int slot) {
  const int server = chosen_[slot];
  BERTH_CHECK(server != kOpen);
  chosen_[slot] = kOpen;
  if (server == kNobody) return;
  if (plan_.slots_interact) {
    for (int set : apart_of_[slot]) --occupied_[set * servers_.size() + server];
    for (const SlotDemand& demand : plan_.slots[slot].demands) {
      room(server, demand.class_index) += demand.amount;
    }
  }
  if (covered_.empty() || IsSuffixed(slot)) return;
  for (size_t set = 0; set < covered_.size(); ++set) {
    covered_[set] -= has_required_[server * covered_.size() + set];
  }
}

}  // namespace berth::placement
