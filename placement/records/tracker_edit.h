// TrackerEdit: what a tracker's write does to the record of an instance. Pure.
#ifndef BERTH_PLACEMENT_RECORDS_TRACKER_EDIT_H_
#define BERTH_PLACEMENT_RECORDS_TRACKER_EDIT_H_

#include "placement/values/instance.h"

namespace berth::placement {

namespace v1 {
class Instance;
}

// The record `before` after the write `written` of a tracker. Takes from `written`:
//   - host, node, claimed_generation, cells, devices, units and migration context
//   - launched_on, unless that is empty in `written`
//   - vm_state and task_state, unless vm_state is empty in `written`
//   - emulator_threads_policy, if `written` has cells: a guest without cells has no such policy,
//     and what the record says may be a wish for a later move
// All else stays as in `before`, also the generation and the times. Of a device whose address a
// device in `before` has, only request_id is taken. This holds for pci_devices, and for
// old_pci_devices of the migration context; in each of them once for each address.
//
// `reverts`: the write ends a move with REVERTED. Then, if `before` has a migration context, the
// PCI requests become those in its old_pci_requests, the flavor becomes its old_flavor, if there is
// one, and its old_pci_devices count as devices in `before`.
//
// REQUIRES: each uuid in `written` is in canonical form or empty.
InstanceRecord TrackerEdit(const InstanceRecord& before, const v1::Instance& written, bool reverts);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RECORDS_TRACKER_EDIT_H_
