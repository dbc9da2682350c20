#include "berth/placement/v1/association.grpc.pb.h"
#include "services/api/edge.h"
#include "services/api/services.h"
#include "services/wire/provider.h"

namespace berth::services {
namespace {

using placement::State;

absl::Status GetTraits(const State& state, const pb::GetProviderTraitsRequest& request,
                       pb::GetProviderTraitsResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto place, FindProvider(state, request.provider_uuid()));
  response->set_generation(place.config().generation.value);
  for (std::string& name : TraitNames(state.catalog(), place.config().traits)) {
    response->add_traits(std::move(name));
  }
  return absl::OkStatus();
}

absl::Status GetAggregates(const State& state, const pb::GetProviderAggregatesRequest& request,
                           pb::GetProviderAggregatesResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto place, FindProvider(state, request.provider_uuid()));
  response->set_generation(place.config().generation.value);
  for (const placement::AggregateId aggregate : place.config().aggregates) {
    response->add_aggregate_uuids(aggregate.ToString());
  }
  return absl::OkStatus();
}

class AssociationService final : public pb::AssociationService::CallbackService {
 public:
  explicit AssociationService(Edge* edge) : edge_(edge) {}

  Reactor* GetProviderTraits(Context* context, const pb::GetProviderTraitsRequest* request,
                             pb::GetProviderTraitsResponse* response) override {
    return edge_->Read(context, request, response, Cost::kLight, GetTraits);
  }
  Reactor* SetProviderTraits(Context* context, const pb::SetProviderTraitsRequest* request,
                             pb::SetProviderTraitsResponse* response) override {
    return edge_->Write(context, request, response, SetTraitsCommand, FillSetTraits);
  }
  Reactor* ClearProviderTraits(Context* context, const pb::ClearProviderTraitsRequest* request,
                               pb::ClearProviderTraitsResponse* response) override {
    return edge_->Write(context, request, response, ClearTraitsCommand, FillClearTraits);
  }
  Reactor* GetProviderAggregates(Context* context, const pb::GetProviderAggregatesRequest* request,
                                 pb::GetProviderAggregatesResponse* response) override {
    return edge_->Read(context, request, response, Cost::kLight, GetAggregates);
  }
  Reactor* SetProviderAggregates(Context* context, const pb::SetProviderAggregatesRequest* request,
                                 pb::SetProviderAggregatesResponse* response) override {
    return edge_->Write(context, request, response, SetAggregatesCommand, FillSetAggregates);
  }

 private:
  Edge* const edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAssociationService(Edge* edge) {
  return std::make_unique<AssociationService>(edge);
}

}  // namespace berth::services
