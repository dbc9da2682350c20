// Who has the CPUs, PCI devices and named units of a node, and that a tracker's write of records
// gives none of them to a second instance, or to any instance if the node is not the tracker's.
//
// Pure functions of the state.
#ifndef BERTH_PLACEMENT_RULES_OWNERS_H_
#define BERTH_PLACEMENT_RULES_OWNERS_H_

#include <optional>

#include "absl/status/status.h"
#include "placement/commands/record.h"
#include "placement/state/state.h"

namespace berth::placement {

// What a command writes of the records of one instance.
struct OwnersWrite {
  std::optional<TrackerProcess> tracker;  // none: no tracker writes, and all is OK
  std::optional<ProviderId> node;    // the one that the tracker writes for; none: all of its host
  InstancePtr before;                // as it is; not null if a tracker writes
  const InstanceRecord& after;       // as it would be
  MigrationPtr migration = nullptr;  // of the instance, as it would be; null: none is written
};

// Compares what the records give to the instance after the write with what they give to it now.
// Refuses the write, in this order,
// - with POLICY_DENIED if the records would name something more of a node that is not the tracker's,
//   in whatever state the instance is. A record, or a side of a migration, that names no node names
//   what it has on each node of its host;
// - with RECORD_CONFLICT if something more would count on a node, and another record counts there
//   with the same (T-395). placement/commands/node_share.h says what counts.
// The trackers prevent both, and the ledger does not rely on them. What counts for the instance
// already is not judged: a write may make it better.
absl::Status CheckOwners(const State& state, const OwnersWrite& write);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_OWNERS_H_
