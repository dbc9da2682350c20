#include "berth/placement/v1/server_group.grpc.pb.h"
#include "placement/commands/group_tally.h"
#include "placement/commands/server_group.h"
#include "services/api/edge.h"
#include "services/api/page.h"
#include "services/api/services.h"
#include "services/wire/instance.h"

namespace berth::services {
namespace {

using placement::ServerGroupId;
using placement::State;

absl::Status ListServerGroups(const State& state, const pb::ListServerGroupsRequest& request,
                              pb::ListServerGroupsResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
  const placement::Revision read_at = state.position().revision;
  SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
  size_t bytes = 0;
  const auto add = [&](ServerGroupId, const placement::ServerGroupPtr& group) {
    if (request.has_project_id() && request.project_id() != group->project) return true;
    if (response->groups_size() == page.limit() || bytes > kPageBytesMax) {
      const std::string& last = response->groups(response->groups_size() - 1).uuid();
      response->set_next_page_token(page.NextToken(last, read_at));
      return false;
    }
    pb::ServerGroup* const to = response->add_groups();
    FillServerGroup(*group, to);
    bytes += to->ByteSizeLong();
    return true;
  };
  const auto& groups = state.records().groups();
  std::optional<ServerGroupId> after;
  if (page.after()) after = ServerGroupId::Parse(*page.after());
  if (after) {
    groups.ForEachFrom(*after, add);
  } else {
    groups.ForEach(add);
  }
  return absl::OkStatus();
}

absl::Status GetServerGroup(const State& state, const pb::GetServerGroupRequest& request,
                            pb::GetServerGroupResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ParseId<ServerGroupId>("group_uuid", request.group_uuid()));
  const placement::ServerGroupPtr group = placement::FindGroup(state.records(), id);
  if (group == nullptr) return placement::ServerGroupNotFound(id, "group_uuid");
  FillServerGroup(*group, response->mutable_group());
  for (const placement::InstancePtr& member : state.records().MembersOf(id)) {
    pb::ServerGroupMember* const to = response->add_members();
    to->set_instance_uuid(member->id.ToString());
    for (const std::string& host : placement::HostsOf(state, *member)) to->add_hosts(host);
  }
  return absl::OkStatus();
}

class ServerGroupService final : public pb::ServerGroupService::CallbackService {
 public:
  explicit ServerGroupService(Edge* edge) : edge_(edge) {}

  Reactor* ListServerGroups(Context* context, const pb::ListServerGroupsRequest* request,
                            pb::ListServerGroupsResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::ListServerGroups);
  }
  Reactor* GetServerGroup(Context* context, const pb::GetServerGroupRequest* request,
                          pb::GetServerGroupResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::GetServerGroup);
  }
  Reactor* SetServerGroup(Context* context, const pb::SetServerGroupRequest* request,
                          pb::SetServerGroupResponse* response) override {
    return edge_->Write(context, request, response, SetServerGroupCommand, FillSetServerGroup);
  }
  Reactor* UpdateServerGroupMembers(Context* context,
                                    const pb::UpdateServerGroupMembersRequest* request,
                                    pb::UpdateServerGroupMembersResponse* response) override {
    return edge_->Write(context, request, response, UpdateServerGroupMembersCommand);
  }
  Reactor* DeleteServerGroup(Context* context, const pb::DeleteServerGroupRequest* request,
                             pb::DeleteServerGroupResponse* response) override {
    return edge_->Write(context, request, response, DeleteServerGroupCommand);
  }

 private:
  Edge* const edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeServerGroupService(Edge* edge) {
  return std::make_unique<ServerGroupService>(edge);
}

}  // namespace berth::services
