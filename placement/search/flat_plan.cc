#include "placement/search/flat_plan.h"

#include <algorithm>

#include "placement/ground/check.h"
#include "placement/search/constraint.h"

namespace berth::placement {

bool FlatPlan::IsFor(const SearchPlan& plan) {
  return plan.groups.size() == 1 && !plan.slots_interact;
}

FlatPlan::FlatPlan(const SearchPlan& plan) : slot_count_(static_cast<int>(plan.slots.size())) {
  // Search makes a flat plan only after it has asked IsFor.
  BERTH_CHECK(IsFor(plan));
  for (const Slot& slot : plan.slots) {
    for (const SlotDemand& demand : slot.demands) {
      amounts_.push_back({plan.classes[demand.class_index], demand.amount});
    }
  }
  std::sort(amounts_.begin(), amounts_.end());
  for (const ClassAmount& wanted : amounts_) {
    candidate_.allocations.push_back(
        {ProviderId(), wanted.resource_class, static_cast<int32_t>(wanted.amount)});
  }
  candidate_.mappings.push_back({plan.groups.at(0).suffix, {ProviderId()}});
}

// Charges as many steps to the budget as RootSearch would: one test of the provider and one choice
// for each slot.
bool FlatPlan::Fits(const Tree& tree, bool certainly, StepBudget& budget) const {
  budget.left -= slot_count_;
  const auto can_take = [&tree](const ClassAmount& wanted) { return CanTake(tree, 0, wanted); };
  if (!certainly && !std::all_of(amounts_.begin(), amounts_.end(), can_take)) return false;
  budget.left -= slot_count_;
  return budget.left >= 0;
}

const Candidate& FlatPlan::On(ProviderId provider) {
  candidate_.root = provider;
  for (Allocation& allocation : candidate_.allocations) allocation.provider = provider;
  candidate_.mappings.front().second.front() = provider;
  return candidate_;
}

}  // namespace berth::placement
