// Counts what placed guests use of the cells of a host.
//
// Pure functions. Only `usage` of a host cell ever changes.
#ifndef BERTH_TRACKER_CELLS_USAGE_H_
#define BERTH_TRACKER_CELLS_USAGE_H_

#include <vector>

#include "absl/status/status.h"
#include "tracker/cells/topology.h"
#include "tracker/facts/numa.h"

namespace berth::tracker {

// Returns all cells of a host, without any use by guests (T-286).
std::vector<HostCell> UnusedCells(const NumaTopology& topology);

// Returns the host CPUs of `host` that the guest cell has for itself. With the policy isolate these
// are all threads of each core of which it uses one.
CpuSet CpusOf(const GuestCell& guest, const HostCell& host);

// Adds what `guest` uses to the host cells on which its cells are placed. Cells that are not
// placed, or are placed on a host cell that is not in `host`, add nothing (T-283).
//
// FailedPrecondition, with the CPUs in its message, if the guest has a CPU that the cell does not
// offer or that another guest has (T-284). InvalidArgument if the guest has an impossible amount of
// memory. After a failure `host` is as before, and other guests can be added.
absl::Status AddUsage(const GuestTopology& guest, std::vector<HostCell>* host);

// Removes what AddUsage added. No amount falls below zero.
//
// Fails like AddUsage, if the guest has a CPU that the cell does not offer or that no guest has.
absl::Status RemoveUsage(const GuestTopology& guest, std::vector<HostCell>* host);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CELLS_USAGE_H_
