#include "placement/records/group_message.h"

#include <memory>
#include <utility>

#include "berth/placement/v1/server_group.pb.h"
#include "placement/records/stored_time.h"

namespace berth::placement {

std::optional<ServerGroup> ServerGroupFrom(const v1::ServerGroup& message) {
  const std::optional<ServerGroupId> id = ServerGroupId::Parse(message.uuid());
  if (!id) return std::nullopt;
  ServerGroup group;
  group.id = *id;
  group.generation = Generation{message.generation()};
  group.name = message.name();
  group.project = message.project_id();
  group.user = message.user_id();
  group.policy = static_cast<ServerGroupPolicy>(message.policy());
  if (message.has_max_server_per_host()) group.max_server_per_host = message.max_server_per_host();
  if (!ReadTime(message.created_at(), &group.created_at) ||
      !ReadTime(message.updated_at(), &group.updated_at)) {
    return std::nullopt;
  }
  return group;
}

void FillServerGroup(const ServerGroup& group, v1::ServerGroup* to) {
  to->Clear();
  to->set_uuid(group.id.ToString());
  to->set_generation(group.generation.value);
  to->set_name(group.name);
  to->set_project_id(group.project);
  to->set_user_id(group.user);
  to->set_policy(static_cast<v1::ServerGroupPolicy>(group.policy));
  if (group.max_server_per_host) {
    to->set_max_server_per_host(static_cast<int32_t>(*group.max_server_per_host));
  }
  *to->mutable_created_at() = TimestampOf(group.created_at);
  *to->mutable_updated_at() = TimestampOf(group.updated_at);
}

std::string StoredBytes(const ServerGroup& group) {
  v1::ServerGroup message;
  FillServerGroup(group, &message);
  return message.SerializeAsString();
}

ServerGroupPtr StoredServerGroupIn(absl::string_view bytes) {
  v1::ServerGroup message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return nullptr;
  std::optional<ServerGroup> group = ServerGroupFrom(message);
  return group ? std::make_shared<const ServerGroup>(*std::move(group)) : nullptr;
}

}  // namespace berth::placement
