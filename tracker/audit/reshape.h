// Finds the allocations that must change together with the providers of a node: because a resource
// moves to another provider or class (T-209), or because a consumer has a PCI device of which
// nothing is allocated to it (T-262).
//
// Pure functions.
#ifndef BERTH_TRACKER_AUDIT_RESHAPE_H_
#define BERTH_TRACKER_AUDIT_RESHAPE_H_

#include <string>
#include <vector>

#include "tracker/account/account.h"
#include "tracker/audit/records.h"
#include "tracker/audit/report.h"
#include "tracker/devices/device_providers.h"

namespace berth::tracker {

// Returns the new allocations of the consumers from which a resource moves:
//   - A class that the root no longer has and that children have, such as VGPU, moves to the first
//     child of the report that has enough left. What fits no child stays, and placement refuses the report.
//   - If the root gets PCPU, then VCPU becomes PCPU for as many CPUs as the instance has pinned.
//
// Only the first report of a tracker may move resources. If `starting` is false, `providers` keeps
// these resources where placement has them, and `problems` gets one text for each.
std::vector<WantedHolding> MoveResources(const Records& records, const NodeAccount& account,
                                         bool starting, std::vector<WantedProvider>* providers,
                                         std::vector<std::string>* problems);

// Returns the new allocations of consumers that own devices of which too little is allocated to
// them: see MissingDeviceAllocations. Skips providers that placement does not have yet. `devices`:
// the providers of the node's devices.
std::vector<WantedHolding> HealDevices(const DeviceProviderTree& devices, const Records& records,
                                       const NodeAccount& account,
                                       const std::vector<WantedProvider>& providers);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_RESHAPE_H_
