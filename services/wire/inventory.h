// Inventories and usages between protos and the domain.
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

// What is left out takes its default (P-14).
placement::Inventory InventoryOf(const pb::Inventory& inventory);
// By rising class name.
std::vector<placement::NamedInventory> NamedInventoriesOf(const InventoryMap& inventories);

// The inventories of `config` by class name, without their use.
void FillInventories(const placement::Catalog& catalog, const placement::ProviderConfig& config,
                     InventoryMap* to);
void FillInventory(const placement::InventoryRow& row, pb::Inventory* to);
// Adds the use to the inventories of `place`.
void FillUse(const placement::Catalog& catalog, const placement::ProviderPlace& place,
             InventoryMap* to);
// Use by class name, 0 included (P-157).
void FillUsed(const placement::Catalog& catalog, const placement::ProviderPlace& place,
              AmountMap* to);

void FillOvercommitted(const std::vector<placement::OverCapacity>& classes,
                       google::protobuf::RepeatedPtrField<pb::OvercommittedClass>* to);
// What is over capacity, told by provider. REQUIRES: a provider's classes stand together.
void FillOvercommits(const std::vector<placement::OverCapacity>& classes,
                     google::protobuf::RepeatedPtrField<pb::ProviderOvercommit>* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_INVENTORY_H_
