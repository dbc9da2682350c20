// Reads from a flavor and an image which NUMA topology a guest asks for.
//
// Pure functions. Every refusal names the setting at fault: see FaultOf. If several settings are
// wrong, the refusal names one of them.
#ifndef BERTH_TRACKER_CELLS_CONSTRAINTS_H_
#define BERTH_TRACKER_CELLS_CONSTRAINTS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "tracker/cells/topology.h"
#include "tracker/cells/wishes.h"

namespace berth::tracker {

// Returns the topology that the guest asks for, not placed yet, or nothing if it asks for none. A
// guest asks for one by a number of cells, a page size, persistent memory, dedicated or mixed CPUs
// (T-269 to T-272). The cells are in the order of their numbers in flavor or image.
//
// Refuses a guest with more than 65,536 vCPUs or fewer than one, an image property with an unlawful
// value, and everything that GuestFaultKind lists.
absl::StatusOr<std::optional<GuestTopology>> ReadGuestTopology(const GuestWishes& wishes);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CELLS_CONSTRAINTS_H_
