#include <iterator>

#include "berth/placement/v1/instance.grpc.pb.h"
#include "placement/commands/record_form.h"
#include "placement/reads/record_query.h"
#include "services/api/edge.h"
#include "services/api/page.h"
#include "services/api/services.h"
#include "services/wire/instance.h"

namespace berth::services {
namespace {

using placement::InstanceId;
using placement::MigrationId;
using placement::ProviderId;
using placement::State;

absl::StatusOr<std::optional<ProviderId>> NodeFilter(bool given, const std::string& text) {
  if (!given) return std::nullopt;
  BERTH_ASSIGN_OR_RETURN(const auto id, ParseId<ProviderId>("node_uuid", text));
  return std::optional(id);
}

// Fills the response of a list call. `list(after, limit)` returns the records of a page, and `add`
// adds one to the response and returns its message. A page with too many bytes ends earlier.
template <typename IdType, typename Request, typename Response, typename List, typename Add>
absl::Status FillPage(const State& state, const Request& request, Response* response, List list,
                      Add add) {
  BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
  std::optional<IdType> after;
  if (page.after()) after = IdType::Parse(*page.after());
  const placement::Revision read_at = state.position().revision;
  SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
  const auto found = list(after, page.limit());
  size_t bytes = 0;
  auto at = found.records.begin();
  while (at != found.records.end() && bytes <= kPageBytesMax) bytes += add(**at++)->ByteSizeLong();
  if (found.more || at != found.records.end()) {
    const std::string last = (*std::prev(at))->id.ToString();
    response->set_next_page_token(page.NextToken(last, read_at));
  }
  return absl::OkStatus();
}

absl::Status ListInstances(const State& state, const pb::ListInstancesRequest& request,
                           pb::ListInstancesResponse* response) {
  placement::InstanceFilter filter;
  if (request.has_host()) filter.host = request.host();
  BERTH_ASSIGN_OR_RETURN(filter.node, NodeFilter(request.has_node_uuid(), request.node_uuid()));
  if (request.has_project_id()) filter.project = request.project_id();
  filter.vm_states = TextsOf(request.vm_states());
  filter.include_deleted = request.include_deleted();
  BERTH_RETURN_IF_ERROR(CheckSize(filter));
  return FillPage<InstanceId>(
      state, request, response,
      [&](const auto& after, int limit) {
        return placement::ListInstances(state.records(), filter, after, limit);
      },
      [&](const auto& record) {
        pb::Instance* const to = response->add_instances();
        FillInstance(record, to);
        return to;
      });
}

absl::Status ListMigrations(const State& state, const pb::ListMigrationsRequest& request,
                            pb::ListMigrationsResponse* response) {
  placement::MigrationFilter filter;
  if (request.has_host()) filter.host = request.host();
  BERTH_ASSIGN_OR_RETURN(filter.node, NodeFilter(request.has_node_uuid(), request.node_uuid()));
  if (request.has_instance_uuid()) {
    BERTH_ASSIGN_OR_RETURN(filter.instance,
                           ParseId<InstanceId>("instance_uuid", request.instance_uuid()));
  }
  filter.statuses = TextsOf(request.statuses());
  if (request.has_in_progress()) filter.in_progress = request.in_progress();
  BERTH_RETURN_IF_ERROR(CheckSize(filter));
  return FillPage<MigrationId>(
      state, request, response,
      [&](const auto& after, int limit) {
        return placement::ListMigrations(state.records(), filter, after, limit);
      },
      [&](const auto& record) {
        pb::Migration* const to = response->add_migrations();
        FillMigration(record, to);
        return to;
      });
}

absl::Status GetInstance(const State& state, const pb::GetInstanceRequest& request,
                         pb::GetInstanceResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto id,
                         ParseId<InstanceId>("instance_uuid", request.instance_uuid()));
  const placement::InstancePtr instance = state.records().FindInstance(id);
  if (instance == nullptr) return placement::InstanceNotFound(id, "instance_uuid");
  FillInstance(*instance, response->mutable_instance());
  return absl::OkStatus();
}

absl::Status GetMigration(const State& state, const pb::GetMigrationRequest& request,
                          pb::GetMigrationResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto id,
                         ParseId<MigrationId>("migration_uuid", request.migration_uuid()));
  const placement::MigrationPtr migration = state.records().FindMigration(id);
  if (migration == nullptr) return placement::MigrationNotFound(id);
  FillMigration(*migration, response->mutable_migration());
  return absl::OkStatus();
}

class InstanceService final : public pb::InstanceService::CallbackService {
 public:
  explicit InstanceService(Edge* edge) : edge_(edge) {}

  Reactor* ListInstances(Context* context, const pb::ListInstancesRequest* request,
                         pb::ListInstancesResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::ListInstances);
  }
  Reactor* GetInstance(Context* context, const pb::GetInstanceRequest* request,
                       pb::GetInstanceResponse* response) override {
    return edge_->Read(context, request, response, Cost::kLight, services::GetInstance);
  }
  Reactor* SetInstance(Context* context, const pb::SetInstanceRequest* request,
                       pb::SetInstanceResponse* response) override {
    return edge_->Write(context, request, response, SetInstanceCommand, FillSetInstance);
  }
  Reactor* DeleteInstance(Context* context, const pb::DeleteInstanceRequest* request,
                          pb::DeleteInstanceResponse* response) override {
    return edge_->Write(context, request, response, DeleteInstanceCommand);
  }
  Reactor* ListMigrations(Context* context, const pb::ListMigrationsRequest* request,
                          pb::ListMigrationsResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::ListMigrations);
  }
  Reactor* GetMigration(Context* context, const pb::GetMigrationRequest* request,
                        pb::GetMigrationResponse* response) override {
    return edge_->Read(context, request, response, Cost::kLight, services::GetMigration);
  }
  Reactor* CreateMigration(Context* context, const pb::CreateMigrationRequest* request,
                           pb::CreateMigrationResponse* response) override {
    return edge_->Write(context, request, response, CreateMigrationCommand, FillCreateMigration);
  }
  Reactor* UpdateMigration(Context* context, const pb::UpdateMigrationRequest* request,
                           pb::UpdateMigrationResponse* response) override {
    return edge_->Write(context, request, response, UpdateMigrationCommand, FillUpdateMigration);
  }
  Reactor* EndMove(Context* context, const pb::EndMoveRequest* request,
                   pb::EndMoveResponse* response) override {
    return edge_->Write(context, request, response, EndMoveCommand, FillEndMove);
  }

 private:
  Edge* const edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeInstanceService(Edge* edge) {
  return std::make_unique<InstanceService>(edge);
}

}  // namespace berth::services
