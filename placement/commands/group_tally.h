// Where the members of a server group are, and where its policy allows further ones (T-320).
//
// Pure functions of the state.
#ifndef BERTH_PLACEMENT_COMMANDS_GROUP_TALLY_H_
#define BERTH_PLACEMENT_COMMANDS_GROUP_TALLY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "placement/state/state.h"
#include "placement/values/candidate.h"
#include "placement/values/server_group.h"

namespace berth::placement {

using HostNames = std::set<std::string>;

// The hosts on which the instance is, as its group counts them:
// - none if it is deleted;
// - the host of its record, unless it uses nothing there (IsRemovable);
// - the hosts of each migration of it that is in progress;
// - the host of each node of which its consumer holds something (FindNodeOfRow), or the consumer of
//   a migration of it that may hold resources.
// So a root that is no node's is no host.
HostNames HostsOf(const State& state, const InstanceRecord& instance);
// The hosts of the nodes of which the candidate takes something.
HostNames HostsOf(const State& state, const Candidate& candidate);

// The group that the record makes the instance a member of, or null.
ServerGroupPtr GroupOf(const State& state, const InstanceRecord& instance);

// GroupTally: where the members of one group are, and where further ones may be (T-320). A local
// value of one decision.
class GroupTally {
 public:
  // A tally of `members`, for a group with the policy and the maximum of `group`.
  GroupTally(const State& state, const ServerGroup& group, const std::vector<InstancePtr>& members);

  size_t size() const { return hosts_.size(); }
  // The hosts of the member; empty if the tally does not have it.
  const HostNames& HostsOf(InstanceId member) const;
  // From now on the member is on these hosts alone.
  void Place(InstanceId member, HostNames hosts);

  // Whether the member may be on the host beside the other members:
  // - by anti-affinity, if fewer than the maximum of them are there;
  // - by affinity, if all of them that are anywhere are there and nowhere else. So while one of them
  //   moves, no other gets a host: wherever the move ends, they are together.
  // Always, if the policy is a wish.
  bool Allows(InstanceId member, const std::string& host) const;
  // The hosts on which the member may not be because of anti-affinity.
  HostNames FullHosts(InstanceId member) const;
  // By affinity, the only hosts on which the member may be: one, or none at all. Nothing: any host.
  std::optional<HostNames> OnlyHosts(InstanceId member) const;

 private:
  void Count(const HostNames& hosts, int64_t sign);

  const ServerGroupPolicy policy_;
  const int64_t max_;
  std::map<InstanceId, HostNames> hosts_;
  std::map<std::string, int64_t> on_host_;  // the number of members on each host
  std::map<std::string, int64_t> only_on_;  // of those that are on no other
  int64_t placed_ = 0;                      // the number of members that are anywhere
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_GROUP_TALLY_H_
