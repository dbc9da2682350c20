// Conversion of inventories and their usage between proto messages and domain types. Pure.
#ifndef BERTH_SERVICES_WIRE_INVENTORY_H_
#define BERTH_SERVICES_WIRE_INVENTORY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "berth/placement/v1/inventory.pb.h"
#include "berth/placement/v1/report.pb.h"
#include "berth/placement/v1/usage.pb.h"
#include "placement/commands/command.h"
#include "services/wire/form.h"
#include "services/wire/write_answer.h"

namespace berth::services {

using InventoryMap = google::protobuf::Map<std::string, pb::Inventory>;
using AmountMap = google::protobuf::Map<std::string, int64_t>;

absl::StatusOr<placement::CommandBody> SetInventoriesCommand(const pb::SetInventoriesRequest&);
absl::StatusOr<placement::CommandBody> CreateInventoryCommand(const pb::CreateInventoryRequest&);
absl::StatusOr<placement::CommandBody> UpdateInventoryCommand(const pb::UpdateInventoryRequest&);
absl::StatusOr<placement::CommandBody> DeleteInventoryCommand(const pb::DeleteInventoryRequest&);
absl::StatusOr<placement::CommandBody> DeleteAllInventoriesCommand(
    const pb::DeleteAllInventoriesRequest&);

void FillSetInventories(const WriteAnswer& answer, pb::SetInventoriesResponse* response);
void FillCreateInventory(const WriteAnswer& answer, const std::string& resource_class,
                         pb::CreateInventoryResponse* response);
void FillUpdateInventory(const WriteAnswer& answer, const std::string& resource_class,
                         pb::UpdateInventoryResponse* response);
void FillDeleteInventory(const WriteAnswer& answer, pb::DeleteInventoryResponse* response);
void FillDeleteAllInventories(const WriteAnswer& answer,
                              pb::DeleteAllInventoriesResponse* response);

// Converts one inventory. A field that `inventory` does not give takes its default (P-14).
placement::Inventory InventoryOf(const pb::Inventory& inventory);
// Converts the inventories of a request. The result is sorted by class name.
std::vector<placement::NamedInventory> NamedInventoriesOf(const InventoryMap& inventories);

// Adds the inventories of `config` by class name, without the amounts used.
void FillInventories(const placement::Catalog& catalog, const placement::ProviderConfig& config,
                     InventoryMap* to);
void FillInventory(const placement::InventoryRow& row, pb::Inventory* to);
// Sets the used amounts of the inventories in `to`, which must already hold the inventories of
// `place`.
void FillUse(const placement::Catalog& catalog, const placement::ProviderPlace& place,
             InventoryMap* to);
// Adds the used amount of each class of `place`, even if the amount is 0 (P-157).
void FillUsed(const placement::Catalog& catalog, const placement::ProviderPlace& place,
              AmountMap* to);

void FillOvercommitted(const std::vector<placement::OverCapacity>& classes,
                       google::protobuf::RepeatedPtrField<pb::OvercommittedClass>* to);
// Adds the classes that are used above their capacity, in one entry for each provider. REQUIRES:
// the classes of one provider are adjacent.
void FillOvercommits(const std::vector<placement::OverCapacity>& classes,
                     google::protobuf::RepeatedPtrField<pb::ProviderOvercommit>* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_INVENTORY_H_
