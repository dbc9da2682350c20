// THE fit rule: one arithmetic for the search, the ledger, summaries and reports (P-27). Pure.
#ifndef BERTH_PLACEMENT_VALUES_CAPACITY_H_
#define BERTH_PLACEMENT_VALUES_CAPACITY_H_

#include "placement/values/types.h"

namespace berth::placement {

// What can be given away: trunc((total - reserved) * allocation_ratio) toward zero, in IEEE double
// (P-27); saturates at the largest int64.
Amount CapacityOf(const Inventory& inventory);

// Whether `amount` obeys min_unit, max_unit and step_size (P-30). Applies to each allocation row
// alone, never to sums.
bool UnitsAllow(const Inventory& inventory, Amount amount);

// Whether raising the use of a class from `used_before` to `used_after` is lawful: it ends within
// `capacity`, or does not rise (P-132, P-133).
bool RoomAllows(Amount capacity, Amount used_before, Amount used_after);

// The largest amount up to `limit`, and the smallest of all, that the units allow; 0 where there is
// none. Room plays no part.
Amount LargestWithin(const Inventory& inventory, Amount limit);
Amount SmallestOf(const Inventory& inventory);

// Whether one more allocation of `amount` fits (P-30): units and room.
bool Fits(const Inventory& inventory, Amount capacity, Amount used, Amount amount);

// The sum, or the largest int64 where it is larger: capacities reach that far. REQUIRES: `b` is not
// negative.
Amount AddCapped(Amount a, Amount b);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_CAPACITY_H_
