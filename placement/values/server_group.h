// Server groups: sets of instances that should be on one host, or on different hosts (T-320).
//
// A group is an entity of the ledger. An instance is a member of the group that its record names
// (MemberGroup in values/instance.h), so a group has no list of members.
#ifndef BERTH_PLACEMENT_VALUES_SERVER_GROUP_H_
#define BERTH_PLACEMENT_VALUES_SERVER_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "placement/values/types.h"

namespace berth::placement {

// How many members a group may have. A write of a member looks at all the others.
inline constexpr size_t kServerGroupMembersMax = 1000;

// Where the members should be. The numbers are stored.
enum class ServerGroupPolicy {
  kAffinity = 1,          // all on one host
  kAntiAffinity = 2,      // at most a maximum of them on one host
  kSoftAffinity = 3,      // a wish; the ledger refuses nothing
  kSoftAntiAffinity = 4,  // a wish, too
};
inline constexpr int kServerGroupPolicyMax = static_cast<int>(ServerGroupPolicy::kSoftAntiAffinity);

struct ServerGroup {
  ServerGroupId id;
  Generation generation;
  std::string name;     // at most 255 characters, like each text here; may be that of another group
  std::string project;  // not empty
  std::string user;     // not empty
  ServerGroupPolicy policy = ServerGroupPolicy::kAffinity;
  // How many members may be on one host, 1..kAmountMax; only with the policies of anti-affinity.
  // None: 1.
  std::optional<int64_t> max_server_per_host;
  absl::Time created_at;
  absl::Time updated_at;

  friend bool operator==(const ServerGroup&, const ServerGroup&) = default;
};
using ServerGroupPtr = std::shared_ptr<const ServerGroup>;

inline bool IsAntiAffinity(ServerGroupPolicy policy) {
  return policy == ServerGroupPolicy::kAntiAffinity ||
         policy == ServerGroupPolicy::kSoftAntiAffinity;
}

// Whether writes that break the policy are refused.
inline bool IsHard(ServerGroupPolicy policy) {
  return policy == ServerGroupPolicy::kAffinity || policy == ServerGroupPolicy::kAntiAffinity;
}

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_SERVER_GROUP_H_
