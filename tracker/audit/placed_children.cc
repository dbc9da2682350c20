#include "tracker/audit/placed_children.h"

#include <algorithm>

namespace berth::tracker {

std::map<std::string, int64_t> UsedOf(const KnownProvider& known, const Records& records) {
  std::map<std::string, int64_t> used;
  for (const KnownAllocation& allocation : records.allocations) {
    if (allocation.provider_uuid != known.uuid) continue;
    for (const auto& [name, amount] : allocation.amounts) used[name] += amount;
  }
  return used;
}

WantedProvider AsPlaced(const KnownProvider& known) {
  WantedProvider child{known.uuid, known.name, known.parent_uuid, known.inventories, {}};
  for (const std::string& trait : known.traits) child.traits[trait] = true;
  return child;
}

WantedProvider AsUsed(const KnownProvider& known, const Records& records) {
  WantedProvider child{known.uuid, known.name, known.parent_uuid, {}, {}};
  for (const auto& [name, used] : UsedOf(known, records)) {
    const auto inventory = known.inventories.find(name);
    if (inventory == known.inventories.end()) continue;
    child.inventories[name] = {used, std::min(inventory->second.reserved, used), 1, used, 1, 1.0};
  }
  return child;
}

}  // namespace berth::tracker
