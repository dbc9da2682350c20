#include "berth/placement/v1/provider.grpc.pb.h"
#include "services/api/edge.h"
#include "services/api/page.h"
#include "services/api/services.h"
#include "services/wire/provider.h"

namespace berth::services {
namespace {

using placement::ProviderId;
using placement::State;

absl::Status GetProvider(const State& state, const pb::GetProviderRequest& request,
                         pb::GetProviderResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto place, FindProvider(state, request.provider_uuid()));
  FillProvider(state, place, request.view(), response->mutable_provider());
  return absl::OkStatus();
}

absl::Status ListProviders(const State& state, const pb::ListProvidersRequest& request,
                           pb::ListProvidersResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto filter, FilterOf(request));
  BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
  const placement::Revision read_at = state.position().revision;
  std::optional<ProviderId> after;
  if (page.after()) after = ProviderId::Parse(*page.after());
  BERTH_ASSIGN_OR_RETURN(const auto found,
                         placement::ListProviders(state, filter, after, page.limit()));
  for (const placement::ProviderPlace& place : found.providers) {
    FillProvider(state, place, request.view(), response->add_providers());
  }
  SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
  if (found.more) {
    const ProviderId last = found.providers.back().config().id;
    response->set_next_page_token(page.NextToken(last.ToString(), read_at));
  }
  return absl::OkStatus();
}

class ProviderService final : public pb::ProviderService::CallbackService {
 public:
  explicit ProviderService(Edge* edge) : edge_(edge) {}

  Reactor* CreateProvider(Context* context, const pb::CreateProviderRequest* request,
                          pb::CreateProviderResponse* response) override {
    return edge_->Write(context, request, response, CreateProviderCommand, FillCreateProvider);
  }
  Reactor* GetProvider(Context* context, const pb::GetProviderRequest* request,
                       pb::GetProviderResponse* response) override {
    return edge_->Read(context, request, response, Cost::kLight, services::GetProvider);
  }
  Reactor* ListProviders(Context* context, const pb::ListProvidersRequest* request,
                         pb::ListProvidersResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::ListProviders);
  }
  Reactor* UpdateProvider(Context* context, const pb::UpdateProviderRequest* request,
                          pb::UpdateProviderResponse* response) override {
    return edge_->Write(context, request, response, UpdateProviderCommand, FillUpdateProvider);
  }
  Reactor* DeleteProvider(Context* context, const pb::DeleteProviderRequest* request,
                          pb::DeleteProviderResponse* response) override {
    return edge_->Write(context, request, response, DeleteProviderCommand);
  }

 private:
  Edge* const edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeProviderService(Edge* edge) {
  return std::make_unique<ProviderService>(edge);
}

}  // namespace berth::services
