#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/commands/inventory_write.h"
#include "placement/rules/rules.h"
#include "placement/state/lookup.h"
#include "placement/values/faults.h"

namespace berth::placement {
namespace {

absl::Status InventoryNotFound(const ProviderConfig& config, absl::string_view resource_class) {
  return Refuse(
      absl::StatusCode::kNotFound, "INVENTORY_NOT_FOUND",
      absl::StrCat(Describe(config), " has no inventory of ", resource_class),
      {{{"provider", config.id.ToString()}, {"resource_class", std::string(resource_class)}}});
}

// The outcome of a command after which the provider has the inventories `rows`. The generation
// rises by 1. The answer names the classes whose capacity is exceeded and the rows of which nothing
// can be allocated. REQUIRES: `rows` are sorted by class; no removed row is in use.
Outcome WithInventories(const State& state, const ProviderPlace& place,
                        std::vector<InventoryRow> rows, const RuleContext& context) {
  ProviderConfig config = place.config();
  config.inventories = std::move(rows);
  config.generation = config.generation.Next();
  config.updated_at = context.now;
  std::vector<OverCapacity> over = OverCapacityOf(state, place, config.inventories);
  std::vector<std::string> warnings = UnallocatableOf(state, config.inventories);
  Outcome outcome = PutProvider(std::move(config), place.tree->root_id());
  outcome.result.over_capacity = std::move(over);
  outcome.result.warnings = std::move(warnings);
  return outcome;
}

}  // namespace

// Raises the generation even if nothing differs (P-84). Refuses, in this order: a malformed command
// (P-7, P-14, P-96); PROVIDER_NOT_FOUND; PROVIDER_GENERATION_CONFLICT; INVALID_INVENTORY;
// RESOURCE_CLASS_NOT_FOUND; INVENTORY_IN_USE (P-83).
absl::StatusOr<Outcome> Decide(const State& state, const SetInventories& command,
                               const RuleContext& context) {
  Faults faults;
  RequireGenerationField(faults, command.expected_generation.has_value());
  InventoryListFields(faults, "inventories", command.inventories);
  BERTH_RETURN_IF_ERROR(faults.status());
  BERTH_ASSIGN_OR_RETURN(ProviderPlace place,
                         RequireProvider(state, command.provider, command.expected_generation));
  BERTH_RETURN_IF_ERROR(CheckInventories(command.inventories));
  BERTH_ASSIGN_OR_RETURN(std::vector<InventoryRow> rows,
                         ResolveInventories(state, command.inventories));
  BERTH_RETURN_IF_ERROR(CheckNoneInUseGoes(state, place, rows));
  return WithInventories(state, place, std::move(rows), context);
}

// Refuses, in this order: a malformed command; PROVIDER_NOT_FOUND; PROVIDER_GENERATION_CONFLICT, if
// a generation is given; INVALID_INVENTORY; RESOURCE_CLASS_NOT_FOUND; INVENTORY_EXISTS (P-85).
absl::StatusOr<Outcome> Decide(const State& state, const CreateInventory& command,
                               const RuleContext& context) {
  Faults faults;
  InventoryFields(faults, "inventory", command.inventory);
  BERTH_RETURN_IF_ERROR(faults.status());
  BERTH_ASSIGN_OR_RETURN(ProviderPlace place,
                         RequireProvider(state, command.provider, command.expected_generation));
  BERTH_RETURN_IF_ERROR(CheckInventories({command.inventory}));
  BERTH_ASSIGN_OR_RETURN(std::vector<InventoryRow> added,
                         ResolveInventories(state, {command.inventory}));
  const ProviderConfig& before = place.config();
  if (before.FindInventory(added.front().resource_class) >= 0) {
    return Refuse(absl::StatusCode::kAlreadyExists, "INVENTORY_EXISTS",
                  absl::StrCat(Describe(before), " already has an inventory of ",
                               command.inventory.resource_class),
                  {{{"provider", before.id.ToString()},
                    {"resource_class", command.inventory.resource_class}}});
  }
  std::vector<InventoryRow> rows = before.inventories;
  rows.push_back(added.front());
  std::sort(rows.begin(), rows.end(), ByClass);
  return WithInventories(state, place, std::move(rows), context);
}

// Refuses, in this order: a malformed command; PROVIDER_NOT_FOUND; PROVIDER_GENERATION_CONFLICT;
// INVALID_INVENTORY; INVENTORY_NOT_FOUND, even if the class itself is unknown (P-86). The command
// may lower the capacity below the allocated amount (P-89, P-91).
absl::StatusOr<Outcome> Decide(const State& state, const UpdateInventory& command,
                               const RuleContext& context) {
  Faults faults;
  RequireGenerationField(faults, command.expected_generation.has_value());
  InventoryFields(faults, "inventory", command.inventory);
  BERTH_RETURN_IF_ERROR(faults.status());
  BERTH_ASSIGN_OR_RETURN(ProviderPlace place,
                         RequireProvider(state, command.provider, command.expected_generation));
  BERTH_RETURN_IF_ERROR(CheckInventories({command.inventory}));
  const int at = FindInventoryByName(state, place.config(), command.inventory.resource_class);
  if (at < 0) return InventoryNotFound(place.config(), command.inventory.resource_class);
  std::vector<InventoryRow> rows = place.config().inventories;
  rows[at] = MakeRow(rows[at].resource_class, command.inventory.inventory);
  return WithInventories(state, place, std::move(rows), context);
}

// Refuses, in this order: a malformed command; PROVIDER_NOT_FOUND; PROVIDER_GENERATION_CONFLICT, if
// a generation is given; INVENTORY_NOT_FOUND, if a class is named (P-87, P-88); INVENTORY_IN_USE.
absl::StatusOr<Outcome> Decide(const State& state, const DeleteInventory& command,
                               const RuleContext& context) {
  Faults faults;
  if (command.resource_class) faults.UpperName("resource_class", *command.resource_class);
  BERTH_RETURN_IF_ERROR(faults.status());
  BERTH_ASSIGN_OR_RETURN(ProviderPlace place,
                         RequireProvider(state, command.provider, command.expected_generation));
  std::vector<InventoryRow> rows;
  if (command.resource_class) {
    const int at = FindInventoryByName(state, place.config(), *command.resource_class);
    if (at < 0) return InventoryNotFound(place.config(), *command.resource_class);
    rows = place.config().inventories;
    rows.erase(rows.begin() + at);
  }
  BERTH_RETURN_IF_ERROR(CheckNoneInUseGoes(state, place, rows));
  return WithInventories(state, place, std::move(rows), context);
}

}  // namespace berth::placement
