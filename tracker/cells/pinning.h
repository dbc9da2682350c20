// Chooses the host CPUs to which virtual CPUs are pinned (T-279 to T-281).
//
// Pure functions.
#ifndef BERTH_TRACKER_CELLS_PINNING_H_
#define BERTH_TRACKER_CELLS_PINNING_H_

#include <map>
#include <optional>

#include "tracker/cells/topology.h"
#include "tracker/settings/cpu_set.h"

namespace berth::tracker {

struct Pinning {
  std::map<int, int> cpu_by_vcpu;
  CpuSet reserved;  // one host CPU for emulator threads, if it was asked for
};

// Returns the dedicated CPUs of the cell that no guest has.
CpuSet FreeDedicatedCpus(const HostCell& host);

// Returns a free host CPU of `host` for each pinned vCPU of `guest`, as its thread policy wants
// them, and with `reserve` one more. Only CPUs in sibling sets of the cell are used. Returns nothing
// if that is impossible, or if `guest` has no pinned vCPU.
std::optional<Pinning> Pin(const HostCell& host, const GuestCell& guest, bool reserve);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CELLS_PINNING_H_
