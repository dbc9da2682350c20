#include "placement/values/capacity.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace berth::placement {

Amount CapacityOf(const Inventory& inventory) {
  const double product =
      static_cast<double>(inventory.total - inventory.reserved) * inventory.allocation_ratio;
  // Compares with 2^63, because a double can represent 2^63 exactly, but not the largest int64.
  if (product >= 0x1p63) return std::numeric_limits<Amount>::max();
  return static_cast<Amount>(std::trunc(product));
}

bool UnitsAllow(const Inventory& inventory, Amount amount) {
  return amount >= inventory.min_unit && amount <= inventory.max_unit &&
         amount % inventory.step_size == 0;
}

Amount LargestWithin(const Inventory& inventory, Amount limit) {
  const Amount most = std::min<Amount>(limit, inventory.max_unit);
  if (most <= 0) return 0;
  const Amount largest = most - most % inventory.step_size;
  return largest >= inventory.min_unit ? largest : 0;
}

Amount SmallestOf(const Inventory& inventory) {
  const Amount steps = (inventory.min_unit + inventory.step_size - 1) / inventory.step_size;
  const Amount smallest = std::max<Amount>(steps, 1) * inventory.step_size;
  return smallest <= inventory.max_unit ? smallest : 0;
}

bool RoomAllows(Amount capacity, Amount used_before, Amount used_after) {
  return used_after <= capacity || used_after <= used_before;
}

Amount AddCapped(Amount a, Amount b) {
  Amount sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<Amount>::max() : sum;
}

bool Fits(const Inventory& inventory, Amount capacity, Amount used, Amount amount) {
  return UnitsAllow(inventory, amount) && amount <= capacity - used;
}

}  // namespace berth::placement
