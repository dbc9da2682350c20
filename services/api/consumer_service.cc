#include "berth/placement/v1/consumer.grpc.pb.h"
#include "placement/reads/consumer_query.h"
#include "services/api/edge.h"
#include "services/api/page.h"
#include "services/api/services.h"
#include "services/wire/allocation.h"
#include "services/wire/consumer.h"
#include "services/wire/form.h"

namespace berth::services {
namespace {

using placement::ConsumerId;
using placement::ProviderId;
using placement::State;

absl::StatusOr<placement::ConsumerFilter> ConsumerFilterOf(
    const pb::ListConsumersRequest& request) {
  placement::ConsumerFilter filter;
  if (request.has_project_id()) filter.project = request.project_id();
  if (request.has_user_id()) filter.user = request.user_id();
  if (request.has_consumer_type()) filter.type = request.consumer_type();
  if (request.has_updated_before()) {
    BERTH_ASSIGN_OR_RETURN(filter.updated_before,
                           TimeOf("updated_before", request.updated_before()));
  }
  if (request.has_in_tree()) {
    BERTH_ASSIGN_OR_RETURN(filter.in_tree, ParseId<ProviderId>("in_tree", request.in_tree()));
  }
  if (request.has_leased()) filter.leased = request.leased();
  return filter;
}

absl::Status ListConsumers(const State& state, const pb::ListConsumersRequest& request,
                           pb::ListConsumersResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto filter, ConsumerFilterOf(request));
  BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
  std::optional<ConsumerId> after;
  if (page.after()) after = ConsumerId::Parse(*page.after());
  BERTH_ASSIGN_OR_RETURN(const auto found,
                         placement::ListConsumers(state, filter, after, page.limit()));
  const placement::Revision read_at = state.position().revision;
  SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
  for (const placement::ConsumerPtr& consumer : found.consumers) {
    FillConsumer(
        state, *consumer, [](ProviderId) { return true; }, response->add_consumers());
  }
  if (found.more) {
    const std::string last = found.consumers.back()->id.ToString();
    response->set_next_page_token(page.NextToken(last, read_at));
  }
  return absl::OkStatus();
}

absl::Status ListConsumerTypes(const State& state, const pb::ListConsumerTypesRequest& request,
                               pb::ListConsumerTypesResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
  const placement::Revision read_at = state.position().revision;
  SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
  const std::map<std::string, int64_t> counts = placement::CountConsumerTypes(state);
  for (auto at = page.after() ? counts.upper_bound(*page.after()) : counts.begin();
       at != counts.end(); ++at) {
    if (response->consumer_types_size() == page.limit()) {
      const std::string& last = response->consumer_types().rbegin()->consumer_type();
      response->set_next_page_token(page.NextToken(last, read_at));
      break;
    }
    pb::ConsumerTypeCount* count = response->add_consumer_types();
    count->set_consumer_type(at->first);
    count->set_consumer_count(at->second);
  }
  return absl::OkStatus();
}

class ConsumerService final : public pb::ConsumerService::CallbackService {
 public:
  explicit ConsumerService(Edge* edge) : edge_(edge) {}

  Reactor* ReleaseConsumers(Context* context, const pb::ReleaseConsumersRequest* request,
                            pb::ReleaseConsumersResponse* response) override {
    return edge_->Write(context, request, response, ReleaseConsumersCommand, FillReleaseConsumers);
  }
  Reactor* SetLease(Context* context, const pb::SetLeaseRequest* request,
                    pb::SetLeaseResponse* response) override {
    return edge_->Write(context, request, response, SetLeaseCommand, FillSetLease);
  }
  Reactor* ListConsumers(Context* context, const pb::ListConsumersRequest* request,
                         pb::ListConsumersResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::ListConsumers);
  }
  Reactor* ListConsumerTypes(Context* context, const pb::ListConsumerTypesRequest* request,
                             pb::ListConsumerTypesResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::ListConsumerTypes);
  }

 private:
  Edge* const edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeConsumerService(Edge* edge) {
  return std::make_unique<ConsumerService>(edge);
}

}  // namespace berth::services
