// Server groups: whether the changes of a command respect them (T-320). Pure.
#ifndef BERTH_PLACEMENT_CLAIMS_GROUP_CHECK_H_
#define BERTH_PLACEMENT_CLAIMS_GROUP_CHECK_H_

#include "absl/status/status.h"
#include "placement/commands/command.h"
#include "placement/state/state.h"

namespace berth::placement {

// Whether a command of this kind is refused if it breaks the policy of a group. The others state
// what is (reports, imports, moves of nodes and of providers), repair, or only release.
bool ObeysServerGroups(const CommandBody& body);

// OK if the changes of a command may take effect in `state`. Fails, in this order,
// - with NOT_FOUND / SERVER_GROUP_NOT_FOUND or FAILED_PRECONDITION / FOREIGN_SERVER_GROUP, if a
//   record makes an instance a member of a group that does not exist or is of another project;
// - with FAILED_PRECONDITION / SERVER_GROUP_FULL, if a group gets too many members;
// - with FAILED_PRECONDITION / SERVER_GROUP_POLICY_VIOLATED, if a member gets a host, or a group,
//   that its group does not allow in the state after the changes. The hosts that it has already are
//   not judged. The same if a group gets another policy or maximum, and a member is where this one
//   does not allow it.
absl::Status CheckServerGroups(const State& state, const Changes& changes);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_GROUP_CHECK_H_
