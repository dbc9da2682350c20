// The commands about server groups, as values, and the checks that the rules of several commands
// share. Pure.
#ifndef BERTH_PLACEMENT_COMMANDS_SERVER_GROUP_H_
#define BERTH_PLACEMENT_COMMANDS_SERVER_GROUP_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "placement/state/state.h"
#include "placement/values/faults.h"
#include "placement/values/server_group.h"

namespace berth::placement {

// How many instances one command may add to a group or take out of it.
inline constexpr size_t kMembersChangedMax = 256;

// Creates a group, or replaces the whole group. The generation and the times of `group` are
// ignored.
struct SetServerGroup {
  ServerGroup group;
  std::optional<Generation> expected_generation;  // none: there must be no such group yet
};
// Makes instances members of the group, and takes others out of it.
struct UpdateServerGroupMembers {
  ServerGroupId group;
  std::vector<InstanceId> add, remove;
};
struct DeleteServerGroup {
  ServerGroupId group;
  std::optional<Generation> expected_generation;  // none: any
};

// Adds a fault for each field that is not as values/server_group.h says.
void ServerGroupFields(Faults& faults, const std::string& path, const ServerGroup& group);

// The refusal SERVER_GROUP_NOT_FOUND. `field`: the field of the request that names the group.
absl::Status ServerGroupNotFound(ServerGroupId id, const std::string& field);
// The refusal SERVER_GROUP_FULL.
absl::Status ServerGroupFull(ServerGroupId id);

// OK unless the record makes the instance a member of a group of which `before`, the record that it
// replaces, did not make it one, or gives it another project. `before` may be null. Else fails with
// NOT_FOUND / SERVER_GROUP_NOT_FOUND, or with FAILED_PRECONDITION / FOREIGN_SERVER_GROUP if the group
// belongs to another project. `field`: the field of the request that names the group.
absl::Status CheckMembership(const State& state, const InstancePtr& before,
                             const InstanceRecord& after, const std::string& field);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_SERVER_GROUP_H_
