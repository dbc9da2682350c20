#include "placement/commands/inventory_write.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/state/lookup.h"
#include "placement/values/capacity.h"

namespace berth::placement {

InventoryRow MakeRow(ClassId resource_class, const Inventory& inventory) {
  return InventoryRow{resource_class, inventory, CapacityOf(inventory)};
}

void InventoryListFields(Faults& faults, const std::string& field,
                         const std::vector<NamedInventory>& inventories) {
  if (!AtMostField(faults, field, inventories.size(), kInventoriesMax)) return;
  std::vector<absl::string_view> names;
  for (size_t i = 0; i < inventories.size(); ++i) {
    InventoryFields(faults, absl::StrCat(field, "[", inventories[i].resource_class, "]"),
                    inventories[i]);
    names.push_back(inventories[i].resource_class);
  }
  std::sort(names.begin(), names.end());
  for (auto it = names.begin(); (it = std::adjacent_find(it, names.end())) != names.end();) {
    faults.Add(kDuplicateParameter, field, absl::StrCat("names ", *it, " twice"),
               {{"resource_class", std::string(*it)}});
    it = std::upper_bound(it, names.end(), *it);
  }
}

absl::StatusOr<std::vector<InventoryRow>> ResolveInventories(
    const State& state, const std::vector<NamedInventory>& inventories) {
  std::vector<InventoryRow> rows;
  std::vector<FaultItem> items;
  std::vector<std::string> unknown;
  rows.reserve(inventories.size());
  for (const NamedInventory& named : inventories) {
    if (const std::optional<ClassId> id = state.catalog().classes.Find(named.resource_class)) {
      rows.push_back(MakeRow(*id, named.inventory));
    } else {
      items.push_back({{"resource_class", named.resource_class}});
      unknown.push_back(named.resource_class);
    }
  }
  if (!items.empty()) {
    return Refuse(absl::StatusCode::kNotFound, "RESOURCE_CLASS_NOT_FOUND",
                  absl::StrCat("there is no resource class ", ListOf(unknown)), items);
  }
  std::sort(rows.begin(), rows.end(), ByClass);
  return rows;
}

int FindInventoryByName(const State& state, const ProviderConfig& config, absl::string_view name) {
  const std::optional<ClassId> id = state.catalog().classes.Find(name);
  return id ? config.FindInventory(*id) : -1;
}

absl::Status CheckNoneInUseGoes(const State& state, const ProviderPlace& place,
                                const std::vector<InventoryRow>& rows) {
  std::vector<FaultItem> items;
  std::vector<std::string> names;
  const ProviderConfig& config = place.config();
  for (int i = 0; i < static_cast<int>(config.inventories.size()); ++i) {
    if (place.used(i) == 0) continue;
    if (std::binary_search(rows.begin(), rows.end(), config.inventories[i], ByClass)) continue;
    names.push_back(state.catalog().classes.NameOf(config.inventories[i].resource_class));
    items.push_back({{"provider", config.id.ToString()},
                     {"resource_class", names.back()},
                     {"used", absl::StrCat(place.used(i))}});
  }
  if (items.empty()) return absl::OkStatus();
  return Refuse(absl::StatusCode::kFailedPrecondition, "INVENTORY_IN_USE",
                absl::StrCat("the inventory of ", absl::StrJoin(names, ", "), " of ",
                             Describe(config), " cannot be deleted: consumers hold some of it"),
                items);
}

std::vector<OverCapacity> OverCapacityOf(const State& state, const ProviderPlace& place,
                                         const std::vector<InventoryRow>& rows) {
  std::vector<OverCapacity> over;
  for (const InventoryRow& row : rows) {
    const int at = place.config().FindInventory(row.resource_class);
    const Amount used = at < 0 ? 0 : place.used(at);
    if (used > row.capacity) {
      over.push_back({place.config().id, state.catalog().classes.NameOf(row.resource_class), used,
                      row.capacity});
    }
  }
  return over;
}

std::vector<std::string> UnallocatableOf(const State& state,
                                         const std::vector<InventoryRow>& rows) {
  std::vector<std::string> warnings;
  for (const InventoryRow& row : rows) {
    const std::string& name = state.catalog().classes.NameOf(row.resource_class);
    const Inventory& inventory = row.inventory;
    if (inventory.min_unit > inventory.max_unit) {
      warnings.push_back(absl::StrCat("nothing of ", name, " can be allocated: min_unit ",
                                      inventory.min_unit, " is above max_unit ",
                                      inventory.max_unit));
    } else if (inventory.step_size > inventory.max_unit) {
      warnings.push_back(absl::StrCat("nothing of ", name, " can be allocated: step_size ",
                                      inventory.step_size, " is above max_unit ",
                                      inventory.max_unit));
    }
  }
  return warnings;
}

}  // namespace berth::placement
