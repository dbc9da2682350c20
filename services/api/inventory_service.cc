#include "berth/placement/v1/inventory.grpc.pb.h"
#include "services/api/edge.h"
#include "services/api/services.h"
#include "services/wire/inventory.h"
#include "services/wire/provider.h"

namespace berth::services {
namespace {

using placement::State;

template <typename Response>
void FillGenerations(const placement::ProviderPlace& place, Response* response) {
  response->set_generation(place.config().generation.value);
  response->set_allocation_generation(place.allocation_generation().value);
}

absl::Status GetInventories(const State& state, const pb::GetInventoriesRequest& request,
                            pb::GetInventoriesResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto place, FindProvider(state, request.provider_uuid()));
  FillGenerations(place, response);
  FillInventories(state.catalog(), place.config(), response->mutable_inventories());
  FillUse(state.catalog(), place, response->mutable_inventories());
  return absl::OkStatus();
}

absl::Status GetInventory(const State& state, const pb::GetInventoryRequest& request,
                          pb::GetInventoryResponse* response) {
  if (request.resource_class().empty()) return InvalidField("resource_class", "is required");
  BERTH_ASSIGN_OR_RETURN(const auto place, FindProvider(state, request.provider_uuid()));
  const auto id = state.catalog().classes.Find(request.resource_class());
  const int row = id ? place.config().FindInventory(*id) : -1;
  if (row < 0) {
    return placement::Refuse(absl::StatusCode::kNotFound, "INVENTORY_NOT_FOUND",
                             absl::StrCat("provider ", place.config().id.ToString(),
                                          " has no inventory of ", request.resource_class()),
                             {{{"provider", place.config().id.ToString()},
                               {"resource_class", request.resource_class()}}});
  }
  FillGenerations(place, response);
  FillInventory(place.config().inventories[row], response->mutable_inventory());
  response->mutable_inventory()->set_used(place.used(row));
  return absl::OkStatus();
}

class InventoryService final : public pb::InventoryService::CallbackService {
 public:
  explicit InventoryService(Edge* edge) : edge_(edge) {}

  Reactor* GetInventories(Context* context, const pb::GetInventoriesRequest* request,
                          pb::GetInventoriesResponse* response) override {
    return edge_->Read(context, request, response, Cost::kLight, services::GetInventories);
  }
  Reactor* GetInventory(Context* context, const pb::GetInventoryRequest* request,
                        pb::GetInventoryResponse* response) override {
    return edge_->Read(context, request, response, Cost::kLight, services::GetInventory);
  }
  Reactor* SetInventories(Context* context, const pb::SetInventoriesRequest* request,
                          pb::SetInventoriesResponse* response) override {
    return edge_->Write(context, request, response, SetInventoriesCommand, FillSetInventories);
  }
  Reactor* CreateInventory(Context* context, const pb::CreateInventoryRequest* request,
                           pb::CreateInventoryResponse* response) override {
    return edge_->Write(context, request, response, CreateInventoryCommand,
                        [request](const WriteAnswer& answer, pb::CreateInventoryResponse* to) {
                          FillCreateInventory(answer, request->resource_class(), to);
                        });
  }
  Reactor* UpdateInventory(Context* context, const pb::UpdateInventoryRequest* request,
                           pb::UpdateInventoryResponse* response) override {
    return edge_->Write(context, request, response, UpdateInventoryCommand,
                        [request](const WriteAnswer& answer, pb::UpdateInventoryResponse* to) {
                          FillUpdateInventory(answer, request->resource_class(), to);
                        });
  }
  Reactor* DeleteInventory(Context* context, const pb::DeleteInventoryRequest* request,
                           pb::DeleteInventoryResponse* response) override {
    return edge_->Write(context, request, response, DeleteInventoryCommand, FillDeleteInventory);
  }
  Reactor* DeleteAllInventories(Context* context, const pb::DeleteAllInventoriesRequest* request,
                                pb::DeleteAllInventoriesResponse* response) override {
    return edge_->Write(context, request, response, DeleteAllInventoriesCommand,
                        FillDeleteAllInventories);
  }

 private:
  Edge* const edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeInventoryService(Edge* edge) {
  return std::make_unique<InventoryService>(edge);
}

}  // namespace berth::services
