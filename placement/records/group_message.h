// Converts server groups to and from the public message ServerGroup, and to and from the bytes of
// this message, which log and table keep. Pure functions.
#ifndef BERTH_PLACEMENT_RECORDS_GROUP_MESSAGE_H_
#define BERTH_PLACEMENT_RECORDS_GROUP_MESSAGE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "placement/values/server_group.h"

namespace berth::placement {

namespace v1 {
class ServerGroup;
}  // namespace v1

// The group that the message describes, with whatever policy it names. None if its uuid is
// malformed, or a time is not in the years 1 to 9999.
std::optional<ServerGroup> ServerGroupFrom(const v1::ServerGroup& message);

// Replaces the content of the message by all that the group has.
void FillServerGroup(const ServerGroup& group, v1::ServerGroup* to);

// The bytes of the message of the group.
std::string StoredBytes(const ServerGroup& group);
// The group whose message is in `bytes`. Null if `bytes` is no message of a group.
ServerGroupPtr StoredServerGroupIn(absl::string_view bytes);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RECORDS_GROUP_MESSAGE_H_
