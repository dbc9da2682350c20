#include "services/wire/inventory.h"

#include <algorithm>
#include <utility>

namespace berth::services {

using placement::Amount;
using placement::CommandBody;
using placement::Inventory;
using placement::InventoryRow;
using placement::NamedInventory;
using placement::ProviderConfig;
using placement::ProviderId;
using placement::ProviderPlace;

namespace {

const ProviderConfig& OnlyConfig(const WriteAnswer& answer) {
  return *answer.decision.result.providers.front().config;
}

// Whether no amount at all satisfies min_unit, max_unit and step_size together (P-18).
bool IsUnallocatable(const Inventory& inventory) {
  const Amount steps = (inventory.min_unit + inventory.step_size - 1) / inventory.step_size;
  return steps * inventory.step_size > inventory.max_unit;
}

// Returns the inventory that the command wrote; null if its class was deleted after the command.
const InventoryRow* FindRow(const WriteAnswer& answer, const std::string& resource_class) {
  const auto id = answer.catalog.classes.Find(resource_class);
  const int row = id ? OnlyConfig(answer).FindInventory(*id) : -1;
  return row < 0 ? nullptr : &OnlyConfig(answer).inventories[row];
}

template <typename Response>
void FillOneInventory(const WriteAnswer& answer, const std::string& resource_class,
                      Response* response) {
  response->set_generation(OnlyConfig(answer).generation.value);
  const InventoryRow* row = FindRow(answer, resource_class);
  if (row == nullptr) return;
  FillInventory(*row, response->mutable_inventory());
  response->set_unallocatable(IsUnallocatable(row->inventory));
}

template <typename Command, typename Request>
absl::StatusOr<CommandBody> OneInventory(const Request& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ProviderIdOf(request));
  if (!request.has_inventory()) return InvalidField("inventory", "is required");
  return Command{id, ExpectedGeneration(request),
                 NamedInventory{request.resource_class(), InventoryOf(request.inventory())}};
}

}  // namespace

absl::StatusOr<CommandBody> SetInventoriesCommand(const pb::SetInventoriesRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ProviderIdOf(request));
  return placement::SetInventories{id, ExpectedGeneration(request),
                                   NamedInventoriesOf(request.inventories())};
}

absl::StatusOr<CommandBody> CreateInventoryCommand(const pb::CreateInventoryRequest& request) {
  return OneInventory<placement::CreateInventory>(request);
}

absl::StatusOr<CommandBody> UpdateInventoryCommand(const pb::UpdateInventoryRequest& request) {
  return OneInventory<placement::UpdateInventory>(request);
}

absl::StatusOr<CommandBody> DeleteInventoryCommand(const pb::DeleteInventoryRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ProviderIdOf(request));
  return placement::DeleteInventory{id, ExpectedGeneration(request), request.resource_class()};
}

absl::StatusOr<CommandBody> DeleteAllInventoriesCommand(
    const pb::DeleteAllInventoriesRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ProviderIdOf(request));
  return placement::DeleteInventory{id, ExpectedGeneration(request), std::nullopt};
}

void FillSetInventories(const WriteAnswer& answer, pb::SetInventoriesResponse* response) {
  response->set_generation(OnlyConfig(answer).generation.value);
  FillInventories(answer.catalog, OnlyConfig(answer), response->mutable_inventories());
  FillOvercommitted(answer.decision.result.over_capacity, response->mutable_overcommitted());
  for (const InventoryRow& row : OnlyConfig(answer).inventories) {
    const std::string* name = ClassName(answer.catalog, row.resource_class);
    if (name != nullptr && IsUnallocatable(row.inventory)) {
      response->add_unallocatable_classes(*name);
    }
  }
}

void FillCreateInventory(const WriteAnswer& answer, const std::string& resource_class,
                         pb::CreateInventoryResponse* response) {
  FillOneInventory(answer, resource_class, response);
}

void FillUpdateInventory(const WriteAnswer& answer, const std::string& resource_class,
                         pb::UpdateInventoryResponse* response) {
  FillOneInventory(answer, resource_class, response);
  google::protobuf::RepeatedPtrField<pb::OvercommittedClass> classes;
  FillOvercommitted(answer.decision.result.over_capacity, &classes);
  if (!classes.empty()) *response->mutable_overcommitted() = std::move(classes[0]);
}

void FillDeleteInventory(const WriteAnswer& answer, pb::DeleteInventoryResponse* response) {
  response->set_generation(OnlyConfig(answer).generation.value);
}

void FillDeleteAllInventories(const WriteAnswer& answer,
                              pb::DeleteAllInventoriesResponse* response) {
  response->set_generation(OnlyConfig(answer).generation.value);
}

Inventory InventoryOf(const pb::Inventory& from) {
  Inventory inventory;
  inventory.total = from.total();
  inventory.reserved = from.reserved();
  if (from.has_min_unit()) inventory.min_unit = from.min_unit();
  if (from.has_max_unit()) inventory.max_unit = from.max_unit();
  if (from.has_step_size()) inventory.step_size = from.step_size();
  if (from.has_allocation_ratio()) inventory.allocation_ratio = from.allocation_ratio();
  return inventory;
}

std::vector<NamedInventory> NamedInventoriesOf(const InventoryMap& inventories) {
  std::vector<NamedInventory> named;
  for (const auto* entry : SortedEntries(inventories)) {
    named.push_back({entry->first, InventoryOf(entry->second)});
  }
  return named;
}

void FillInventories(const placement::Catalog& catalog, const ProviderConfig& config,
                     InventoryMap* to) {
  for (const InventoryRow& row : config.inventories) {
    const std::string* name = ClassName(catalog, row.resource_class);
    if (name != nullptr) FillInventory(row, &(*to)[*name]);
  }
}

void FillInventory(const InventoryRow& row, pb::Inventory* to) {
  to->set_total(row.inventory.total);
  to->set_reserved(row.inventory.reserved);
  to->set_min_unit(row.inventory.min_unit);
  to->set_max_unit(row.inventory.max_unit);
  to->set_step_size(row.inventory.step_size);
  to->set_allocation_ratio(row.inventory.allocation_ratio);
  to->set_capacity(row.capacity);
}

void FillUse(const placement::Catalog& catalog, const ProviderPlace& place, InventoryMap* to) {
  AmountMap used;
  FillUsed(catalog, place, &used);
  for (const auto& [name, amount] : used) (*to)[name].set_used(amount);
}

void FillUsed(const placement::Catalog& catalog, const ProviderPlace& place, AmountMap* to) {
  const std::vector<InventoryRow>& rows = place.config().inventories;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string* name = ClassName(catalog, rows[i].resource_class);
    if (name != nullptr) (*to)[*name] = place.used(static_cast<int>(i));
  }
}

void FillOvercommitted(const std::vector<placement::OverCapacity>& classes,
                       google::protobuf::RepeatedPtrField<pb::OvercommittedClass>* to) {
  for (const placement::OverCapacity& over : classes) {
    pb::OvercommittedClass* one = to->Add();
    one->set_resource_class(over.resource_class);
    one->set_used(over.used);
    one->set_capacity(over.capacity);
  }
}

void FillOvercommits(const std::vector<placement::OverCapacity>& classes,
                     google::protobuf::RepeatedPtrField<pb::ProviderOvercommit>* to) {
  for (auto first = classes.begin(); first != classes.end();) {
    const auto last = std::find_if(first, classes.end(), [&](const placement::OverCapacity& over) {
      return over.provider != first->provider;
    });
    pb::ProviderOvercommit* provider = to->Add();
    provider->set_provider_uuid(first->provider.ToString());
    FillOvercommitted({first, last}, provider->mutable_classes());
    first = last;
  }
}

}  // namespace berth::services
