#include "berth/placement/v1/usage.grpc.pb.h"
#include "placement/reads/provider_query.h"
#include "services/api/edge.h"
#include "services/api/page.h"
#include "services/api/services.h"
#include "services/wire/allocation.h"
#include "services/wire/inventory.h"
#include "services/wire/provider.h"
#include "services/wire/usage.h"

namespace berth::services {
namespace {

using placement::State;

absl::Status GetProviderUsages(const State& state, const pb::GetProviderUsagesRequest& request,
                               pb::GetProviderUsagesResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto place, FindProvider(state, request.provider_uuid()));
  response->set_generation(place.config().generation.value);
  response->set_allocation_generation(place.allocation_generation().value);
  FillUsed(state.catalog(), place, response->mutable_used());
  return absl::OkStatus();
}

absl::Status GetUsages(const State& state, const pb::GetUsagesRequest& request,
                       pb::GetUsagesResponse* response) {
  std::optional<std::string> user, type;
  if (request.has_user_id()) user = request.user_id();
  if (request.has_consumer_type()) type = request.consumer_type();
  BERTH_ASSIGN_OR_RETURN(const auto groups,
                         placement::GetUsages(state, request.project_id(), user, type));
  for (const auto& [name, group] : groups) FillUsageGroup(name, group, response->add_groups());
  return absl::OkStatus();
}

absl::Status ReportUsages(const State& state, const pb::ReportUsagesRequest& request,
                          pb::ReportUsagesResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto filter, UsageReportFilterOf(request));
  BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
  const placement::Revision read_at = state.position().revision;
  SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
  const placement::UsageReportPage report =
      placement::ReportUsages(state, filter, page.after(), page.limit());
  for (const auto& [key, row] : report.rows) FillUsageRow(key, row, response->add_rows());
  if (report.more) {
    response->set_next_page_token(page.NextToken(report.rows.rbegin()->first, read_at));
  }
  return absl::OkStatus();
}

class UsageService final : public pb::UsageService::CallbackService {
 public:
  explicit UsageService(Edge* edge) : edge_(edge) {}

  Reactor* GetProviderUsages(Context* context, const pb::GetProviderUsagesRequest* request,
                             pb::GetProviderUsagesResponse* response) override {
    return edge_->Read(context, request, response, Cost::kLight, services::GetProviderUsages);
  }
  Reactor* GetUsages(Context* context, const pb::GetUsagesRequest* request,
                     pb::GetUsagesResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::GetUsages);
  }
  Reactor* ReportUsages(Context* context, const pb::ReportUsagesRequest* request,
                        pb::ReportUsagesResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::ReportUsages);
  }

 private:
  Edge* const edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeUsageService(Edge* edge) {
  return std::make_unique<UsageService>(edge);
}

}  // namespace berth::services
