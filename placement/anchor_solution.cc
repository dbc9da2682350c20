// AnchorSearch: the solution that was found, as a candidate.
#include <algorithm>
#include <utility>

#include "placement/anchor_search.h"

namespace berth::placement {

Candidate AnchorSearch::Solution() const {
  Candidate candidate;
  candidate.anchor = anchor_->get()->root_id();
  candidate.mappings.reserve(plan_.groups.size());
  for (const PlannedGroup& group : plan_.groups) candidate.mappings.push_back({group.suffix, {}});
  std::vector<Allocation>& allocations = candidate.allocations;
  allocations.reserve(plan_.slots.size());
  for (int s = 0; s < slot_count(); ++s) {
    const Slot& slot = plan_.slots[s];
    if (chosen(s) == nullptr) continue;
    const ProviderId provider = chosen(s)->id;
    candidate.mappings[slot.group].second.push_back(provider);
    if (slot.spread >= 0) {
      const ClassId shared = plan_.classes[plan_.spreads[slot.spread].demand.class_index];
      allocations.push_back({provider, shared, static_cast<int32_t>(share(s))});
    }
    for (const SlotDemand& demand : slot.demands) {
      const auto amount = static_cast<int32_t>(demand.amount);
      allocations.push_back({provider, plan_.classes[demand.class_index], amount});
    }
  }
  std::sort(allocations.begin(), allocations.end());
  size_t end = 0;  // P-195: one row for each provider and class, amounts added up
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
