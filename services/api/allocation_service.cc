#include "berth/placement/v1/allocation.grpc.pb.h"
#include "services/api/edge.h"
#include "services/api/page.h"
#include "services/api/services.h"
#include "services/wire/allocation.h"
#include "services/wire/provider.h"

namespace berth::services {
namespace {

using placement::ConsumerId;
using placement::ProviderId;
using placement::ProviderPlace;
using placement::State;

absl::Status GetAllocations(const State& state, const pb::GetAllocationsRequest& request,
                            pb::GetAllocationsResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ConsumerIdOf(request));
  const placement::ConsumerPtr consumer = state.FindConsumer(id);
  if (consumer == nullptr) return absl::OkStatus();  // P-126
  FillConsumer(
      state, *consumer, [](ProviderId) { return true; }, response->mutable_consumer());
  return absl::OkStatus();
}

// Returns the first `count` consumers with ids above `after`, ascending, that hold something on the
// wanted providers: of `place` alone, or of all providers of its tree.
std::vector<ConsumerId> ConsumersAfter(const ProviderPlace& place, bool whole_tree,
                                       std::optional<ConsumerId> after, size_t count) {
  std::vector<ConsumerId> found;
  for (int position = 0; position < place.tree->size(); ++position) {
    if (!whole_tree && position != place.position) continue;
    size_t taken = 0;
    const auto take = [&](const ConsumerId& id, const auto&) {
      found.push_back(id);
      return ++taken < count;
    };
    const placement::ConsumerSet& consumers = place.tree->consumers[position];
    after ? consumers.ForEachFrom(*after, take) : consumers.ForEach(take);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() > count) found.resize(count);
  return found;
}

absl::Status ListProviderAllocations(const State& state,
                                     const pb::ListProviderAllocationsRequest& request,
                                     pb::ListProviderAllocationsResponse* response) {
  BERTH_RETURN_IF_ERROR(ProviderIdOf(request).status());
  BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
  BERTH_ASSIGN_OR_RETURN(const auto place, FindProvider(state, request.provider_uuid()));
  const placement::Revision read_at = state.position().revision;
  SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
  response->set_generation(place.config().generation.value);
  response->set_allocation_generation(place.allocation_generation().value);
  const auto is_wanted = [&](ProviderId id) {
    return request.whole_tree() ? place.tree->Find(id) >= 0 : id == place.config().id;
  };
  std::optional<ConsumerId> after;
  if (page.after()) after = ConsumerId::Parse(*page.after());
  std::vector<ConsumerId> ids =
      ConsumersAfter(place, request.whole_tree(), after, static_cast<size_t>(page.limit()) + 1);
  if (ids.size() > static_cast<size_t>(page.limit())) {
    ids.pop_back();
    response->set_next_page_token(page.NextToken(ids.back().ToString(), read_at));
  }
  for (const ConsumerId id : ids) {
    FillConsumer(state, *state.FindConsumer(id), is_wanted, response->add_consumers());
  }
  return absl::OkStatus();
}

class AllocationService final : public pb::AllocationService::CallbackService {
 public:
  explicit AllocationService(Edge* edge) : edge_(edge) {}

  Reactor* SetAllocations(Context* context, const pb::SetAllocationsRequest* request,
                          pb::SetAllocationsResponse* response) override {
    return edge_->Write(context, request, response, SetAllocationsCommand, FillSetAllocations);
  }
  Reactor* DeleteAllocations(Context* context, const pb::DeleteAllocationsRequest* request,
                             pb::DeleteAllocationsResponse* response) override {
    return edge_->Write(context, request, response, DeleteAllocationsCommand);
  }
  Reactor* AdjustAllocations(Context* context, const pb::AdjustAllocationsRequest* request,
                             pb::AdjustAllocationsResponse* response) override {
    return edge_->Write(context, request, response, AdjustAllocationsCommand,
                        FillAdjustAllocations);
  }
  Reactor* GetAllocations(Context* context, const pb::GetAllocationsRequest* request,
                          pb::GetAllocationsResponse* response) override {
    return edge_->Read(context, request, response, Cost::kLight, services::GetAllocations);
  }
  Reactor* ListProviderAllocations(Context* context,
                                   const pb::ListProviderAllocationsRequest* request,
                                   pb::ListProviderAllocationsResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::ListProviderAllocations);
  }

 private:
  Edge* const edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAllocationService(Edge* edge) {
  return std::make_unique<AllocationService>(edge);
}

}  // namespace berth::services
