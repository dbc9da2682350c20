// ProviderConfig: the configuration of a resource provider. A configuration is immutable and
// shared. A change replaces the whole configuration, including the generation.
//
// The values that claims change (the use of each class, the consumers, the allocation generation)
// are not here but in the provider's Tree.
#ifndef BERTH_PLACEMENT_VALUES_PROVIDER_H_
#define BERTH_PLACEMENT_VALUES_PROVIDER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/values/types.h"

namespace berth::placement {

// The trait of a sharing provider: trees beside its own may use its inventories (P-106).
inline constexpr absl::string_view kSharingTrait = "MISC_SHARES_VIA_AGGREGATE";

struct InventoryRow {
  ClassId resource_class{};
  Inventory inventory;
  Amount capacity = 0;  // CapacityOf(inventory), computed once per inventory write

  friend bool operator==(const InventoryRow&, const InventoryRow&) = default;
};

struct ProviderConfig {
  ProviderId id;
  std::string name;                  // 1..200 code points, unique in the ledger (P-10, P-11)
  std::optional<ProviderId> parent;  // none: a root
  Generation generation;  // rises when inventories, traits, aggregates or the parent change
  std::vector<InventoryRow> inventories;  // sorted by class id, each class once
  std::vector<TraitId> traits;            // sorted, each once
  std::vector<AggregateId> aggregates;    // sorted, each once
  absl::Time created_at;
  absl::Time updated_at;

  // The index of the inventory of `resource_class`, or -1.
  int FindInventory(ClassId resource_class) const;
  bool HasTrait(TraitId trait) const;
  bool IsMemberOf(AggregateId aggregate) const;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_PROVIDER_H_
