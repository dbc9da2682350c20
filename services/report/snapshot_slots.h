// SnapshotSlots: gives at most `slots_max` nodes at a time a slot for sending a snapshot, and
// queues the others (T-230).
//
// After a restart of placement ten thousand trackers connect at the same time, and many of them
// must send a snapshot. A slot that is not released within `use_within` becomes free at the next
// Due. Not thread-safe.
#ifndef BERTH_SERVICES_REPORT_SNAPSHOT_SLOTS_H_
#define BERTH_SERVICES_REPORT_SNAPSHOT_SLOTS_H_

#include <deque>
#include <map>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "placement/values/types.h"

namespace berth::services {

class SnapshotSlots {
 public:
  SnapshotSlots(int slots_max, absl::Duration use_within)
      : slots_max_(slots_max), use_within_(use_within) {}

  // Gives `node` a slot if one is free and no node waits; otherwise queues the node. Returns
  // whether the node has a slot. A node that has a slot already keeps it.
  bool Ask(placement::ProviderId node, placement::BootTime now) {
    if (slots_.contains(node)) return true;
    if (static_cast<int>(slots_.size()) < slots_max_ && queued_.empty()) {
      slots_[node] = now + use_within_;
      return true;
    }
    if (queued_.insert(node).second) queue_.push_back(node);
    return false;
  }
  // Frees the slot of `node`, or ends its wait for one. A node that asks again soon may get its old
  // place in the queue.
  void Release(placement::ProviderId node) {
    slots_.erase(node);
    queued_.erase(node);  // Due ignores the entry in queue_ unless the node asks again
  }
  // Gives the free slots to waiting nodes in the order of the queue, and returns these nodes.
  std::vector<placement::ProviderId> Due(placement::BootTime now) {
    std::erase_if(slots_, [now](const auto& slot) { return slot.second <= now; });
    std::vector<placement::ProviderId> due;
    while (static_cast<int>(slots_.size()) < slots_max_ && !queue_.empty()) {
      const placement::ProviderId node = queue_.front();
      queue_.pop_front();
      if (queued_.erase(node) == 0) continue;
      slots_[node] = now + use_within_;
      due.push_back(node);
    }
    return due;
  }

  int waiting() const { return static_cast<int>(queued_.size()); }

 private:
  const int slots_max_;
  const absl::Duration use_within_;
  std::map<placement::ProviderId, placement::BootTime>
      slots_;  // by node; from this time on Due frees the slot
  // The queue. May have nodes that no longer wait, and a node more than once.
  std::deque<placement::ProviderId> queue_;
  std::set<placement::ProviderId> queued_;  // the nodes of queue_ that still wait
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_SNAPSHOT_SLOTS_H_
