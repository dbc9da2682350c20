#include "placement/search/root_search.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "placement/ground/check.h"
#include "placement/search/constraint.h"
#include "placement/values/capacity.h"

namespace berth::placement {

RootSearch::RootSearch(const SearchPlan& plan, StepBudget& budget)
    : plan_(plan),
      budget_(budget),
      domains_(plan.slots.size()),
      parts_(plan.slots.size(), 0),
      apart_of_(plan.slots.size()),
      separate_of_(plan.slots.size()),
      remaining_(plan.slots.size()) {
  const auto note = [](const std::vector<std::vector<int>>& sets, auto& sets_of) {
    for (int set = 0; set < static_cast<int>(sets.size()); ++set) {
      for (int slot : sets[set]) sets_of[slot].push_back(set);
    }
  };
  note(plan.apart, apart_of_);
  note(plan.separate, separate_of_);
}

bool RootSearch::Begin(const TreePtr& tree, const std::vector<const SharingProvider*>& foreign) {
  tree_ = &tree;
  begun_ = false;
  ListOptions(foreign);
  if (!FillDomains()) return false;
  single_ = true;
  for (const std::vector<int>& domain : domains_) single_ &= domain.size() == 1;
  next_.assign(plan_.slots.size(), 0);
  chosen_.assign(plan_.slots.size(), kOpen);
  if (plan_.slots_interact) {
    occupied_.assign(plan_.apart.size() * options_.size(), 0);
    MeasureRoom();
  }
  NoteRequired();
  return CanEndWell(0);
}

bool RootSearch::Next() {
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

// The index in domains_[slot] of the first option to try. A slot with a twin starts at the option
// that the twin chose: earlier options would only give solutions in which the two slots have
// swapped their providers (twin_of in plan.h).
int RootSearch::FirstOption(int slot) const {
  if (plan_.twin_of.empty() || plan_.twin_of[slot] < 0) return 0;
  return next_[plan_.twin_of[slot]] - 1;
}

bool RootSearch::Advance(int slot) {
  if (plan_.slots[slot].divided >= 0) return AdvancePart(slot);
  const std::vector<int>& domain = domains_[slot];
  int& next = next_[slot];
  while (next < static_cast<int>(domain.size())) {
    if (budget_.spent()) return false;
    --budget_.left;
    const int option = domain[next++];
    if (!Allows(slot, option)) continue;
    Choose(slot, option);
    if (CanEndWell(slot + 1)) return true;
    Undo(slot);
  }
  return false;
}

bool RootSearch::Allows(int slot, int option) const {
  if (!plan_.slots_interact) return true;
  if (!KeepsApart(slot, option)) return false;
  if (!plan_.amounts_add_up) return true;
  for (const SlotDemand& demand : plan_.slots[slot].demands) {
    if (room(option, demand.class_index) < demand.amount) return false;  // P-197
  }
  return true;
}

// Whether the sets that contain `slot` allow the choice of `option`, given the options that the
// other slots of these sets chose.
bool RootSearch::KeepsApart(int slot, int option) const {
  for (int set : apart_of_[slot]) {
    if (occupied_[set * options_.size() + option] > 0) return false;  // P-196
  }
  for (int set : separate_of_[slot]) {
    for (int other : plan_.separate[set]) {
      const int chosen = chosen_[other];
      if (chosen >= 0 && (IsUnder(option, chosen) || IsUnder(chosen, option))) return false;
    }
  }
  return true;
}

void RootSearch::Choose(int slot, int option) {
  BERTH_CHECK(chosen_[slot] == kOpen);  // Next undoes a choice before the next one
  chosen_[slot] = option;
  if (option == kNobody) return;
  if (plan_.slots_interact) {
    for (int set : apart_of_[slot]) ++occupied_[set * options_.size() + option];
    for (const SlotDemand& demand : plan_.slots[slot].demands) {
      AddRoom(option, demand, -demand.amount);
    }
  }
  if (covered_.empty() || IsSuffixed(slot)) return;
  for (size_t set = 0; set < covered_.size(); ++set) {
    covered_[set] += has_required_[option * covered_.size() + set];
  }
}

void RootSearch::Undo(int slot) {
  const int option = chosen_[slot];
  BERTH_CHECK(option != kOpen);  // Next undoes what it chose
  chosen_[slot] = kOpen;
  if (option == kNobody) return;
  if (plan_.slots_interact) {
    for (int set : apart_of_[slot]) --occupied_[set * options_.size() + option];
    for (const SlotDemand& demand : plan_.slots[slot].demands) {
      AddRoom(option, demand, demand.amount);
    }
  }
  if (covered_.empty() || IsSuffixed(slot)) return;
  for (size_t set = 0; set < covered_.size(); ++set) {
    covered_[set] -= has_required_[option * covered_.size() + set];
  }
}

void RootSearch::ListOptions(const std::vector<const SharingProvider*>& foreign) {
  options_.clear();
  for (const auto& [id, position] : (*tree_)->shape->by_id) {
    options_.push_back({tree_, position, id, false, 0});
  }
  if (foreign.empty()) return;
  const auto own_end = static_cast<std::ptrdiff_t>(options_.size());
  for (const SharingProvider* sharing : foreign) {
    options_.push_back({&sharing->tree, sharing->position, sharing->id, true, 0});
  }
  std::inplace_merge(options_.begin(), options_.begin() + own_end, options_.end(),
                     [](const Option& a, const Option& b) { return a.id < b.id; });
}

bool RootSearch::FillDomains() {
  for (int slot = 0; slot < slot_count(); ++slot) {
    const Slot& wanted = plan_.slots[slot];
    const PlannedGroup& group = plan_.groups[wanted.group];
    std::vector<int>& domain = domains_[slot];
    domain.clear();
    for (int s = 0; s < static_cast<int>(options_.size()); ++s) {
      --budget_.left;
      const Option& option = options_[s];
      bool serves = true;
      if (wanted.divided >= 0) {
        serves = CanGivePart(option, plan_.divided_amounts[wanted.divided].demand);
      }
      for (const SlotDemand& demand : wanted.demands) {
        const ClassAmount amount = {plan_.classes[demand.class_index], demand.amount};
        serves = serves && CanTake(**option.tree, option.position, amount);
      }
      if (serves && (group.suffixed() ? ServesAlone(option, group) : ServesTogether(option, group)))
        domain.push_back(s);
    }
    if (domain.empty()) return false;  // a slot without options: nothing fits (P-194)
  }
  return true;
}

// Whether `option` meets all conditions of a suffixed group, which one provider must serve
// (P-180..P-183).
bool RootSearch::ServesAlone(const Option& option, const PlannedGroup& group) const {
  const ProviderConfig& provider = option.config();
  if (group.tree && (*option.tree)->root_id() != *group.tree) return false;
  return HasOneOfEach(provider, group.required) && HasNoneOf(provider, group.forbidden) &&
         IsInOneOfEach(provider, group.member_of) &&
         IsInNoneOf(provider, group.forbidden_aggregates);
}

// Whether `option` meets the conditions that each provider of the unsuffixed group must meet.
// Required traits are not among these conditions: it is enough if the providers of the group have
// the traits together.
bool RootSearch::ServesTogether(const Option& option, const PlannedGroup& group) const {
  const ProviderConfig& provider = option.config();
  const ProviderConfig& root = (*tree_)->config(0);
  if (group.tree && (option.foreign || root.id != *group.tree)) return false;  // P-192
  if (!HasNoneOf(provider, group.forbidden)) return false;                     // P-188
  // The provider alone or, if it is in the root's tree, the root alone must be in an aggregate of
  // each set of member_of (P-189). Neither of the two may be in a forbidden aggregate (P-191).
  const bool is_member = IsInOneOfEach(provider, group.member_of) ||
                         (!option.foreign && IsInOneOfEach(root, group.member_of));
  return is_member && IsInNoneOf(provider, group.forbidden_aggregates) &&
         IsInNoneOf(root, group.forbidden_aggregates);
}

// Of the inventories that the options have, not of each class of the plan for each option: the
// memory that this takes is in proportion to what the state holds, whatever the request names.
void RootSearch::MeasureRoom() {
  room_.clear();
  for (Option& option : options_) {
    option.first_room = room_.size();
    const int rows = static_cast<int>(option.config().inventories.size());
    for (int row = 0; row < rows; ++row) {
      room_.push_back(RoomFor(**option.tree, option.position, row));
    }
  }
}

Amount RootSearch::room(int option, int class_index) const {
  const int row = options_[option].config().FindInventory(plan_.classes[class_index]);
  return row < 0 ? 0 : room_[options_[option].first_room + static_cast<size_t>(row)];
}

void RootSearch::AddRoom(int option, const SlotDemand& demand, Amount amount) {
  const int row = options_[option].config().FindInventory(plan_.classes[demand.class_index]);
  BERTH_CHECK(row >= 0);  // FillDomains left out options without the class
  room_[options_[option].first_room + static_cast<size_t>(row)] += amount;
}

void RootSearch::NoteRequired() {
  if (plan_.unsuffixed < 0) return;
  const TraitSets& required = plan_.groups[plan_.unsuffixed].required;
  covered_.assign(required.size(), 0);
  if (required.empty()) return;
  has_required_.assign(options_.size() * required.size(), false);
  for (size_t s = 0; s < options_.size(); ++s) {
    for (size_t set = 0; set < required.size(); ++set) {
      has_required_[s * required.size() + set] = HasOneOf(options_[s].config(), required[set]);
    }
  }
}

bool RootSearch::CanGivePart(const Option& option, const SlotDemand& demand) const {
  const int row = option.config().FindInventory(plan_.classes[demand.class_index]);
  if (row < 0) return false;
  const Amount room = RoomFor(**option.tree, option.position, row);
  return LargestWithin(option.config().inventories[row].inventory, std::min(room, demand.amount)) >
         0;
}

// The most that `option` can still give of `demand`, after the choices that are made.
Amount RootSearch::MostOf(const SlotDemand& demand, int option) const {
  const ProviderConfig& provider = options_[option].config();
  const InventoryRow& row =
      provider.inventories[provider.FindInventory(plan_.classes[demand.class_index])];
  return LargestWithin(row.inventory, std::min(room(option, demand.class_index), demand.amount));
}

// Makes the next choice for `slot`, which belongs to a divided amount; false if there is none.
// These slots choose options in order of id. If one chooses kNobody, all later ones do so, too.
bool RootSearch::AdvancePart(int slot) {
  const DividedAmount& divided = plan_.divided_amounts[plan_.slots[slot].divided];
  const std::vector<int>& domain = domains_[slot];
  const bool is_first = slot == divided.first;
  const int before = is_first ? kOpen : chosen_[slot - 1];
  int& next = next_[slot];
  const int end = static_cast<int>(domain.size()) + (is_first ? 0 : 1);
  while (next < end) {
    if (budget_.spent()) return false;
    --budget_.left;
    const int at = next++;
    const int option = is_first ? domain[at] : at == 0 ? kNobody : domain[at - 1];
    if (option != kNobody && (before == kNobody || option <= before)) continue;
    Choose(slot, option);
    if (CanEndWell(slot + 1)) return true;
    Undo(slot);
  }
  return false;
}

bool RootSearch::DividedAmountsCanBeMet(int from) {
  return std::all_of(
      plan_.divided_amounts.begin(), plan_.divided_amounts.end(),
      [&](const DividedAmount& divided) { return DividedAmountCanBeMet(divided, from); });
}

bool RootSearch::DividedAmountCanBeMet(const DividedAmount& divided, int from) {
  Amount sum = 0;
  Amount least = std::numeric_limits<Amount>::max();
  int last = kOpen;
  for (int slot = divided.first; slot < std::min(from, divided.end()); ++slot) {
    if (chosen_[slot] == kNobody) return sum >= divided.demand.amount && Divide(divided);
    last = chosen_[slot];
    const Amount most = MostOf(divided.demand, last);
    sum += most;
    least = std::min(least, most);
    if (most == 0 || sum - least >= divided.demand.amount)
      return false;  // one option is not needed
  }
  if (from >= divided.end()) return sum >= divided.demand.amount && Divide(divided);
  if (sum >= divided.demand.amount) return true;
  const int count = divided.end() - std::max(from, divided.first);
  return sum + MostAfter(divided, last, count) >= divided.demand.amount;
}

// The most that `count` of the options after `last` can give together.
Amount RootSearch::MostAfter(const DividedAmount& divided, int last, int count) const {
  std::vector<Amount> most;
  for (int option : domains_[divided.first]) {
    if (option > last) most.push_back(MostOf(divided.demand, option));
  }
  std::sort(most.rbegin(), most.rend());
  if (static_cast<int>(most.size()) > count) most.resize(count);
  Amount sum = 0;
  for (Amount each : most) sum += each;
  return sum;
}

// Divides the amount among the chosen options, as root_search.h says. Returns false if min_unit,
// max_unit or step_size of the options do not allow it.
bool RootSearch::Divide(const DividedAmount& divided) {
  const SlotDemand& demand = divided.demand;
  const auto inventory_of = [&](int slot) -> const Inventory& {
    const ProviderConfig& provider = options_[chosen_[slot]].config();
    const int row = provider.FindInventory(plan_.classes[demand.class_index]);
    return provider.inventories[row].inventory;
  };
  int end = divided.first;
  while (end < divided.end() && chosen_[end] >= 0) ++end;
  Amount later = 0;  // the sum of the smallest amounts that the options of later slots may give
  for (int slot = divided.first; slot < end; ++slot) later += SmallestOf(inventory_of(slot));
  Amount rest = demand.amount;
  for (int slot = divided.first; slot < end; ++slot) {
    later -= SmallestOf(inventory_of(slot));
    const Amount room_here = room(chosen_[slot], demand.class_index);
    parts_[slot] = LargestWithin(inventory_of(slot), std::min(room_here, rest - later));
    if (parts_[slot] == 0) return false;
    rest -= parts_[slot];
  }
  return rest == 0;
}

Candidate RootSearch::Solution() const {
  Candidate candidate;
  candidate.root = (*tree_)->root_id();
  candidate.mappings.reserve(plan_.groups.size());
  for (const PlannedGroup& group : plan_.groups) candidate.mappings.push_back({group.suffix, {}});
  std::vector<Allocation>& allocations = candidate.allocations;
  allocations.reserve(plan_.slots.size());
  for (int s = 0; s < slot_count(); ++s) {
    const Slot& slot = plan_.slots[s];
    if (chosen(s) == nullptr) continue;
    const ProviderId provider = chosen(s)->id;
    candidate.mappings[slot.group].second.push_back(provider);
    if (slot.divided >= 0) {
      const ClassId divided = plan_.classes[plan_.divided_amounts[slot.divided].demand.class_index];
      allocations.push_back({provider, divided, static_cast<int32_t>(part(s))});
    }
    for (const SlotDemand& demand : slot.demands) {
      const auto amount = static_cast<int32_t>(demand.amount);
      allocations.push_back({provider, plan_.classes[demand.class_index], amount});
    }
  }
  std::sort(allocations.begin(), allocations.end());
  size_t end = 0;  // P-195: one allocation for each provider and class; amounts are added
  for (const Allocation& next : allocations) {
    Allocation* last = end > 0 ? &allocations[end - 1] : nullptr;
    if (last != nullptr && last->provider == next.provider &&
        last->resource_class == next.resource_class) {
      last->amount += next.amount;
    } else {
      allocations[end++] = next;
    }
  }
  allocations.resize(end);
  for (auto& [suffix, providers] : candidate.mappings) {
    std::sort(providers.begin(), providers.end());
    providers.erase(std::unique(providers.begin(), providers.end()), providers.end());
  }
  return candidate;
}

}  // namespace berth::placement
