// Inventory writes: what rules that replace a provider's inventories share, whoever asks.
//
// Pure functions of the state. Forms of inventories are form.h's.
#ifndef BERTH_PLACEMENT_COMMANDS_INVENTORY_WRITE_H_
#define BERTH_PLACEMENT_COMMANDS_INVENTORY_WRITE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "placement/commands/outcome.h"
#include "placement/state/state.h"
#include "placement/values/faults.h"
#include "placement/values/provider.h"

namespace berth::placement {

// The row of `inventory`, with its capacity.
InventoryRow MakeRow(ClassId resource_class, const Inventory& inventory);
inline bool ByClass(const InventoryRow& a, const InventoryRow& b) {
  return a.resource_class < b.resource_class;
}

// The form of a whole list: each field, and no class twice. `field` names the list.
void InventoryListFields(Faults& faults, const std::string& field,
                         const std::vector<NamedInventory>& inventories);

// Rows by rising class; NOT_FOUND with RESOURCE_CLASS_NOT_FOUND naming all unknown classes.
absl::StatusOr<std::vector<InventoryRow>> ResolveInventories(
    const State& state, const std::vector<NamedInventory>& inventories);

// Position of the inventory of the class called `name` in `config`, or -1.
int FindInventoryByName(const State& state, const ProviderConfig& config, absl::string_view name);

// FAILED_PRECONDITION with INVENTORY_IN_USE naming all classes that have allocations and are not
// in `rows` (P-83). REQUIRES: `rows` by rising class.
absl::Status CheckNoneInUseGoes(const State& state, const ProviderPlace& place,
                                const std::vector<InventoryRow>& rows);

// Classes of `rows` of which more is used than they hold (P-89).
std::vector<OverCapacity> OverCapacityOf(const State& state, const ProviderPlace& place,
                                         const std::vector<InventoryRow>& rows);
// Words for each row that no amount satisfies (P-18).
std::vector<std::string> UnallocatableOf(const State& state, const std::vector<InventoryRow>& rows);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_INVENTORY_WRITE_H_
