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
  HeldReader read_held = nullptr;    // null: nobody can read the details, and all is OK
  InstancePtr before;                // as it is; not null if a tracker writes
  const InstanceRecord& after;       // as it would be
  MigrationPtr migration = nullptr;  // of the instance, as it would be; null: none is written
};

// Looks at what the records give to the instance after the write and do not give to it now. Refuses
// the write with POLICY_DENIED if this is of a node that is not the tracker's, and with
// RECORD_CONFLICT if another record gives it to its instance (T-395). A record without a node gives
// what it has on each node of its host. The trackers prevent both, and the ledger does not rely on
// them. What the records give to the instance already is not judged: a write may make it better.
absl::Status CheckOwners(const State& state, const OwnersWrite& write);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_OWNERS_H_
