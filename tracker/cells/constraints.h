// Reads from a flavor and an image which NUMA topology a guest asks for.
//
// Pure functions. The settings of a flavor are its extra specs, for example hw:cpu_policy; those of
// an image are its properties, for example hw_cpu_policy. Every refusal names the setting at fault:
// see FaultOf. If several settings are wrong, the refusal names one of them.
#ifndef BERTH_TRACKER_CELLS_CONSTRAINTS_H_
#define BERTH_TRACKER_CELLS_CONSTRAINTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tracker/cells/topology.h"

namespace berth::tracker {

// What a guest asks for.
struct GuestWishes {
  int vcpus = 0;  // at most CpuSet::kMaxCpu + 1
  int64_t memory_mib = 0;
  std::map<std::string, std::string> flavor;  // the extra specs of the flavor
  std::map<std::string, std::string> image;   // the properties of the image
};

// Returns the topology that the guest asks for, not placed yet, or nothing if it asks for none: it
// asks for one by a number of cells, a page size, persistent memory, dedicated or mixed CPUs
// (T-269 to T-272). Cells are in the order of their numbers in flavor or image.
//
// Refuses an image with a property that is no legal value, and all that GuestFaultKind names except
// the policies for PCI devices.
absl::StatusOr<std::optional<GuestTopology>> ReadGuestTopology(const GuestWishes& wishes);

// Returns the policy that flavor or image give for all requests of the guest for PCI devices:
// required, preferred, legacy or socket. Returns nothing if they give none.
//
// Refuses an unknown policy, and an image that contradicts the flavor (T-244).
absl::StatusOr<std::optional<std::string>> ReadPciNumaPolicy(const GuestWishes& wishes);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CELLS_CONSTRAINTS_H_
