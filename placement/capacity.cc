#include "placement/capacity.h"

#include <cmath>
#include <limits>

namespace berth::placement {

Amount CapacityOf(const Inventory& inventory) {
  const double product =
      static_cast<double>(inventory.total - inventory.reserved) * inventory.allocation_ratio;
  // 2^63 is a double; the largest int64 is not.
  if (product >= 0x1p63) return std::numeric_limits<Amount>::max();
  return static_cast<Amount>(std::trunc(product));
}

bool UnitsAllow(const Inventory& inventory, Amount amount) {
  return amount >= inventory.min_unit && amount <= inventory.max_unit &&
         amount % inventory.step_size == 0;
}

bool RoomAllows(Amount capacity, Amount used_before, Amount used_after) {
  return used_after <= capacity || used_after <= used_before;
}

bool Fits(const Inventory& inventory, Amount capacity, Amount used, Amount amount) {
  return UnitsAllow(inventory, amount) && amount <= capacity - used;
}

}  // namespace berth::placement
