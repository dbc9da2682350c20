#include "placement/anchor_search.h"

#include "placement/check.h"

namespace berth::placement {

AnchorSearch::AnchorSearch(const SearchPlan& plan, StepBudget& budget)
    : plan_(plan), budget_(budget), domains_(plan.slots.size()) {}

bool AnchorSearch::Begin(const TreePtr& anchor,
                         const std::vector<const SharingProvider*>& foreign) {
  anchor_ = &anchor;
  begun_ = false;
  ListServers(foreign);
  if (!FillDomains()) return false;
  single_ = true;
  for (const std::vector<int>& domain : domains_) single_ &= domain.size() == 1;
  next_.assign(plan_.slots.size(), 0);
  chosen_.assign(plan_.slots.size(), -1);
  if (plan_.slots_interact) {
    occupied_.assign(servers_.size(), 0);
    MeasureRoom();
  }
  NoteRequired();
  return CanEndWell(0);
}

bool AnchorSearch::Next() {
  int slot = begun_ ? slot_count() - 1 : 0;
  begun_ = true;
  while (slot >= 0) {
    if (chosen_[slot] >= 0) Undo(slot);
    if (!Advance(slot)) {
      if (budget_.spent()) return false;
      --slot;
      continue;
    }
    if (slot == slot_count() - 1) return true;
    next_[++slot] = 0;
  }
  return false;
}

bool AnchorSearch::Advance(int slot) {
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
  if (plan_.isolate && IsSuffixed(slot) && occupied_[server] > 0) return false;  // P-196
  for (const SlotDemand& demand : plan_.slots[slot].demands) {
    if (room(server, demand.class_index) < demand.amount) return false;  // P-197
  }
  return true;
}

void AnchorSearch::Choose(int slot, int server) {
  BERTH_CHECK(chosen_[slot] < 0);
  chosen_[slot] = server;
  if (plan_.slots_interact) {
    if (IsSuffixed(slot)) ++occupied_[server];
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
  BERTH_CHECK(server >= 0);
  chosen_[slot] = -1;
  if (plan_.slots_interact) {
    if (IsSuffixed(slot)) --occupied_[server];
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
