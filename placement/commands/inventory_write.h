// Functions for all rules that write the inventories of a provider.
//
// Pure functions of the state.
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

// The row that a configuration has for `inventory`, with the computed capacity.
InventoryRow MakeRow(ClassId resource_class, const Inventory& inventory);
inline bool ByClass(const InventoryRow& a, const InventoryRow& b) {
  return a.resource_class < b.resource_class;
}

// Adds the faults of a list of inventories: the faults of each field, and classes that occur twice.
// `field` is the path of the list.
void InventoryListFields(Faults& faults, const std::string& field,
                         const std::vector<NamedInventory>& inventories);

// The rows of `inventories`, sorted by class. Fails with NOT_FOUND / RESOURCE_CLASS_NOT_FOUND,
// which names all unknown classes.
absl::StatusOr<std::vector<InventoryRow>> ResolveInventories(
    const State& state, const std::vector<NamedInventory>& inventories);

// The index of the inventory of the class `name` in `config`, or -1.
int FindInventoryByName(const State& state, const ProviderConfig& config, absl::string_view name);

// FAILED_PRECONDITION / INVENTORY_IN_USE if a class has allocations on the provider and no row in
// `rows`; the refusal names all such classes (P-83). REQUIRES: `rows` are sorted by class.
absl::Status CheckNoneInUseGoes(const State& state, const ProviderPlace& place,
                                const std::vector<InventoryRow>& rows);

// The classes of which more is used on the provider than the capacity in `rows` (P-89).
std::vector<OverCapacity> OverCapacityOf(const State& state, const ProviderPlace& place,
                                         const std::vector<InventoryRow>& rows);
// A warning for each row of which nothing can be allocated, because min_unit, max_unit and
// step_size allow no amount (P-18).
std::vector<std::string> UnallocatableOf(const State& state, const std::vector<InventoryRow>& rows);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_INVENTORY_WRITE_H_
