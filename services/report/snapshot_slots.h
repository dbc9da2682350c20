// SnapshotSlots: how many snapshots placement takes at a time, and who waits for one (T-230).
//
// After a restart ten thousand trackers come back at once; those whose report no longer stands send
// theirs one slot after the other. A slot that is not used in time goes to the next. Not thread-safe.
#ifndef BERTH_SERVICES_REPORT_SNAPSHOT_SLOTS_H_
#define BERTH_SERVICES_REPORT_SNAPSHOT_SLOTS_H_

#include <deque>
#include <map>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "placement/values/types.h"

namespace berth::services {

class SnapshotSlots {
 public:
  SnapshotSlots(int slots_max, absl::Duration use_within)
      : slots_max_(slots_max), use_within_(use_within) {}

  // Takes a slot for `node`, or queues it; whether it has one.
  bool Ask(placement::ProviderId node, absl::Time now);
  // `node` has sent its snapshot, or is gone.
  void Release(placement::ProviderId node);
  // The nodes whose turn has come, each now with a slot.
  std::vector<placement::ProviderId> Due(absl::Time now);

  int waiting() const { return static_cast<int>(queued_.size()); }

 private:
  const int slots_max_;
  const absl::Duration use_within_;
  std::map<placement::ProviderId, absl::Time> slots_;  // with the end of its time
  std::deque<placement::ProviderId> queue_;
  std::set<placement::ProviderId> queued_;  // those of `queue_` that still wait
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_SNAPSHOT_SLOTS_H_
