#include "berth/placement/v1/aggregate.grpc.pb.h"
#include "placement/commands/aggregate.h"
#include "services/api/edge.h"
#include "services/api/page.h"
#include "services/api/services.h"
#include "services/wire/catalog.h"

namespace berth::services {
namespace {

using placement::AggregateId;
using placement::AggregatePtr;
using placement::State;

absl::Status ListAggregates(const State& state, const pb::ListAggregatesRequest& request,
                            pb::ListAggregatesResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
  const placement::Revision read_at = state.position().revision;
  SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
  std::optional<AggregateId> after;
  if (page.after()) after = AggregateId::Parse(*page.after());
  if (request.has_name()) {
    const AggregatePtr found = state.aggregates().FindByName(request.name());
    if (found != nullptr && (!after || *after < found->id)) {
      FillAggregate(*found, response->add_aggregates());
    }
    return absl::OkStatus();
  }
  size_t bytes = 0;
  const auto add = [&](AggregateId, const AggregatePtr& aggregate) {
    if (response->aggregates_size() == page.limit() || bytes > kPageBytesMax) {
      const std::string& last = response->aggregates(response->aggregates_size() - 1).uuid();
      response->set_next_page_token(page.NextToken(last, read_at));
      return false;
    }
    pb::Aggregate* const to = response->add_aggregates();
    FillAggregate(*aggregate, to);
    bytes += to->ByteSizeLong();
    return true;
  };
  if (after) {
    state.aggregates().by_id().ForEachFrom(*after, add);
  } else {
    state.aggregates().by_id().ForEach(add);
  }
  return absl::OkStatus();
}

absl::Status GetAggregate(const State& state, const pb::GetAggregateRequest& request,
                          pb::GetAggregateResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto id,
                         ParseId<AggregateId>("aggregate_uuid", request.aggregate_uuid()));
  const AggregatePtr aggregate = state.aggregates().Find(id);
  if (aggregate == nullptr) return placement::AggregateNotFound(id);
  FillAggregate(*aggregate, response->mutable_aggregate());
  return absl::OkStatus();
}

class AggregateService final : public pb::AggregateService::CallbackService {
 public:
  explicit AggregateService(Edge* edge) : edge_(edge) {}

  Reactor* ListAggregates(Context* context, const pb::ListAggregatesRequest* request,
                          pb::ListAggregatesResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::ListAggregates);
  }
  Reactor* GetAggregate(Context* context, const pb::GetAggregateRequest* request,
                        pb::GetAggregateResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::GetAggregate);
  }
  Reactor* SetAggregate(Context* context, const pb::SetAggregateRequest* request,
                        pb::SetAggregateResponse* response) override {
    return edge_->Write(context, request, response, SetAggregateCommand, FillSetAggregate);
  }
  Reactor* DeleteAggregate(Context* context, const pb::DeleteAggregateRequest* request,
                           pb::DeleteAggregateResponse* response) override {
    return edge_->Write(context, request, response, DeleteAggregateCommand);
  }

 private:
  Edge* const edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAggregateService(Edge* edge) {
  return std::make_unique<AggregateService>(edge);
}

}  // namespace berth::services
