// TrackerEdit: what a tracker's write does to the record of an instance. Pure.
#ifndef BERTH_PLACEMENT_RECORDS_TRACKER_EDIT_H_
#define BERTH_PLACEMENT_RECORDS_TRACKER_EDIT_H_

#include "placement/values/instance.h"

namespace berth::placement {

namespace v1 {
class Instance;
}

// The record after the write `written`; its generation and times are those of `before`. Takes over
// the fields that a tracker decides: host, node, claimed_generation, cells, devices, units and
// migration context; launched_on, and vm_state with task_state, unless they are empty; and
// emulator_threads_policy unless there are no cells. The emulator of a guest without cells has no
// policy, and what the record says may be a wish for a later move. Of a device, a tracker says the
// address and for which request it is; the other facts stay as the record has them.
//
// `reverts`: the write ends a move with REVERTED. Then the instance gets back the flavor and the PCI
// requests of before the move.
InstanceRecord TrackerEdit(const InstanceRecord& before, const v1::Instance& written, bool reverts);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RECORDS_TRACKER_EDIT_H_
