// GroupScopes: where the server groups of the members of a PlaceClaims allow them.
//
// By anti-affinity the roots of full hosts are left out. By affinity only the roots of the nodes of
// one host are left, as soon as one other member is anywhere; in a fleet without nodes all are. A
// member may also stay on a host on which it was before the command, if no member that was placed
// before it would break its policy by that. A node that is not the root of its tree is compared only
// afterwards (group_check.h). A local value of one decision; a copy is an attempt. The state and the
// command must outlive it.
#ifndef BERTH_PLACEMENT_CLAIMS_GROUP_SCOPES_H_
#define BERTH_PLACEMENT_CLAIMS_GROUP_SCOPES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "placement/commands/command.h"
#include "placement/commands/group_tally.h"
#include "placement/state/state.h"
#include "placement/values/candidate.h"

namespace berth::placement {

class GroupScopes {
 public:
  // `state`: before the command.
  GroupScopes(const State& state, const PlaceClaims& claims) : state_(&state), claims_(&claims) {}

  // Finds the groups of the members, and where their members are in `released`: the state before the
  // command without what the members of the command hold. Returns the work in steps: `of_group` for
  // each group, and `of_member` for each of its members. To be called first.
  int64_t Tally(const State& released, int64_t of_group, int64_t of_member);
  // The work of a copy, in steps: one for each member of the groups.
  int64_t copy_steps() const { return copy_steps_; }

  // The group of the member; null: none that forbids anything.
  const ServerGroupPtr& GroupOf(int member) const { return members_[member].group; }
  // The parts of `scope` in which the group of the member allows it, beside all others; none if it
  // allows no root.
  std::vector<SearchScope> ScopesOf(int member, const SearchScope& scope);
  // Notes that the member gets these hosts, beside those that its records name.
  void Place(int member, const HostNames& hosts);
  // Whether anti-affinity forbids to place all members under one root that is a node's.
  bool AreTooManyForOneHost() const;

 private:
  // One member of the command.
  struct Member {
    InstanceId instance;   // that its consumer holds for
    ServerGroupPtr group;  // null: none that forbids anything
    HostNames had;         // where the instance was before the command, as a member of the group
    HostNames placed;      // the hosts of its candidate
  };

  // The record of the instance for which the member holds afterwards: a migration's consumer holds
  // for the instance that moves. Null if there is none, or the move is over.
  InstancePtr RecordOf(const ClaimMember& member) const;
  // Whether the member may stay on a host that has become too full for it, or lies apart.
  bool MayStay(int member, const std::string& host);
  // Adds the roots of the nodes of the host.
  void AddRoots(const std::string& host, std::set<ProviderId>& roots) const;

  const State* state_;
  const PlaceClaims* claims_;
  std::vector<Member> members_;  // those of the command, in its order
  std::map<ServerGroupId, GroupTally> tallies_;
  int64_t copy_steps_ = 0;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_GROUP_SCOPES_H_
