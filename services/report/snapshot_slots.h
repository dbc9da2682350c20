// SnapshotSlots: gives at most `slots_max` nodes at a time a slot for sending a snapshot, and
// queues the others (T-230).
//
// After a restart of placement ten thousand trackers connect at the same time, and many of them
// must send a snapshot. Hosts take turns, one node each, and the nodes of one host have at most
// `host_max` slots: so a tracker that announces thousands of nodes keeps no other host waiting. A
// slot that is not released within `use_within` becomes free at the next Due. Not thread-safe.
#ifndef BERTH_SERVICES_REPORT_SNAPSHOT_SLOTS_H_
#define BERTH_SERVICES_REPORT_SNAPSHOT_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "placement/values/types.h"

namespace berth::services {

class SnapshotSlots {
 public:
  SnapshotSlots(int slots_max, int host_max, absl::Duration use_within);

  // Gives `node`, which the tracker of `host` has announced, a slot, if one is free, the host has
  // fewer than host_max, and no node waits that could take it. Otherwise queues the node as the
  // last one of the host. Returns whether the node has a slot. A node that has a slot already keeps
  // it, and a node that waits for the same host keeps its place.
  bool Ask(const std::string& host, placement::ProviderId node, placement::BootTime now);
  // Frees the slot of `node`, or ends its wait for one.
  void Release(placement::ProviderId node);
  // Gives the free slots to waiting nodes, in the turns of their hosts, and returns these nodes.
  std::vector<placement::ProviderId> Due(placement::BootTime now);

  int waiting() const { return static_cast<int>(waiting_.size()); }

 private:
  using Turns = std::list<std::string>;
  struct Host {
    size_t slots = 0;                               // of its nodes
    std::map<int64_t, placement::ProviderId> line;  // its nodes that wait, by when they came
    std::optional<Turns::iterator> turn;            // its place in turns_, if it has one
  };
  struct Slot {
    std::string host;
    placement::BootTime until;  // from this time on Due frees the slot
  };
  struct Place {
    std::string host;
    int64_t number = 0;  // in the line of the host
  };

  void Open(const std::string& host, placement::ProviderId node, placement::BootTime now);
  void Free(std::map<placement::ProviderId, Slot>::iterator slot);
  // To be called when the slots or the line of the host have changed. Gives the host a turn, or
  // takes its turn away; forgets a host that has neither slots nor waiting nodes.
  void Settle(const std::string& name);

  const size_t slots_max_;
  const size_t host_max_;
  const absl::Duration use_within_;
  int64_t last_number_ = 0;
  std::map<placement::ProviderId, Slot> slots_;     // by node
  std::map<placement::ProviderId, Place> waiting_;  // by node
  std::map<std::string, Host> hosts_;               // that have slots or waiting nodes
  Turns turns_;  // the hosts whose nodes wait and may have another slot
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_SNAPSHOT_SLOTS_H_
