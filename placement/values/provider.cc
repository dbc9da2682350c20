#include "placement/values/provider.h"

#include <algorithm>

namespace berth::placement {

int ProviderConfig::FindInventory(ClassId resource_class) const {
  // A provider has only a few classes, so looking at each of them is faster than an index.
  for (size_t i = 0; i < inventories.size(); ++i) {
    if (inventories[i].resource_class == resource_class) return static_cast<int>(i);
  }
  return -1;
}

bool ProviderConfig::HasTrait(TraitId trait) const {
  return std::binary_search(traits.begin(), traits.end(), trait);
}

bool ProviderConfig::IsMemberOf(AggregateId aggregate) const {
  return std::binary_search(aggregates.begin(), aggregates.end(), aggregate);
}

}  // namespace berth::placement
