// The arithmetic of capacity: functions that tell whether an amount fits into an inventory. The
// search, the ledger, summaries and reports all use these functions (P-27). The functions are pure.
#ifndef BERTH_PLACEMENT_VALUES_CAPACITY_H_
#define BERTH_PLACEMENT_VALUES_CAPACITY_H_

#include "placement/values/types.h"

namespace berth::placement {

// How much of the inventory can be allocated: (total - reserved) * allocation_ratio, computed in
// IEEE double and truncated toward zero (P-27); at most the largest int64.
Amount CapacityOf(const Inventory& inventory);

// Whether min_unit, max_unit and step_size allow one allocation of `amount` (P-30). These three
// limit each allocation by itself, never a sum of allocations.
bool UnitsAllow(const Inventory& inventory, Amount amount);

// Whether a command may change the use of a class from `used_before` to `used_after`. It may if the
// use is within `capacity` afterwards, or does not grow (P-132, P-133).
bool RoomAllows(Amount capacity, Amount used_before, Amount used_after);

// LargestWithin returns the largest amount up to `limit` that UnitsAllow accepts; SmallestOf
// returns the smallest amount that UnitsAllow accepts. Both return 0 if there is no such amount.
// Neither considers how much is free.
Amount LargestWithin(const Inventory& inventory, Amount limit);
Amount SmallestOf(const Inventory& inventory);

// Whether one more allocation of `amount` fits: UnitsAllow accepts it, and the use stays within
// `capacity` (P-30).
bool Fits(const Inventory& inventory, Amount capacity, Amount used, Amount amount);

// The sum of `a` and `b`, but at most the largest int64, which is a possible capacity. REQUIRES:
// `b` is not negative.
Amount AddCapped(Amount a, Amount b);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_CAPACITY_H_
