#include "placement/commands/server_group.h"

#include "absl/strings/str_cat.h"
#include "placement/values/refusal.h"

namespace berth::placement {

void ServerGroupFields(Faults& faults, const std::string& path, const ServerGroup& group) {
  const auto text = [&](const char* field, const std::string& value, int64_t min) {
    faults.Length(path + field, value, min, kTextMax);
    faults.Line(path + field, value);
  };
  text(".name", group.name, 0);
  text(".project_id", group.project, 1);
  text(".user_id", group.user, 1);
  const int policy = static_cast<int>(group.policy);
  if (policy < 1 || policy > kServerGroupPolicyMax) {
    faults.Add(kInvalidField, path + ".policy", "must be a policy that this release knows");
  }
  if (!group.max_server_per_host) return;
  if (!IsAntiAffinity(group.policy)) {
    faults.Add(kInvalidField, path + ".max_server_per_host",
               "is only allowed with a policy of anti-affinity");
  } else if (*group.max_server_per_host < 1 || *group.max_server_per_host > kAmountMax) {
    faults.Add(kInvalidField, path + ".max_server_per_host",
               absl::StrCat("must be 1 to ", kAmountMax, ", but is ", *group.max_server_per_host));
  }
}

absl::Status ServerGroupNotFound(ServerGroupId id, const std::string& field) {
  return Refuse(absl::StatusCode::kNotFound, "SERVER_GROUP_NOT_FOUND",
                absl::StrCat("there is no server group ", id.ToString()),
                {{{"server_group", id.ToString()}, {"field", field}}});
}

absl::Status ServerGroupFull(ServerGroupId id) {
  return Refuse(absl::StatusCode::kFailedPrecondition, "SERVER_GROUP_FULL",
                absl::StrCat("server group ", id.ToString(), " has ", kServerGroupMembersMax,
                             " members, and may have no more"),
                {{{"server_group", id.ToString()}}});
}

absl::Status CheckMembership(const State& state, const InstancePtr& before,
                             const InstanceRecord& after, const std::string& field) {
  const std::optional<ServerGroupId> id = MemberGroup(after);
  const bool stays = before != nullptr && MemberGroup(*before) == id;
  if (!id || (stays && before->project == after.project)) {
    return absl::OkStatus();
  }
  const ServerGroupPtr group = FindGroup(state.records(), *id);
  if (group == nullptr) return ServerGroupNotFound(*id, field);
  if (group->project == after.project) return absl::OkStatus();
  return Refuse(
      absl::StatusCode::kFailedPrecondition, "FOREIGN_SERVER_GROUP",
      absl::StrCat("server group ", id->ToString(), " belongs to another project than ",
                   "instance ", after.id.ToString()),
      {{{"server_group", id->ToString()}, {"instance", after.id.ToString()}, {"field", field}}});
}

}  // namespace berth::placement
