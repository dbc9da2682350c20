// Decides which host CPUs guests share, and which CPUs are dedicated to one guest each.
//
// Pure functions.
#ifndef BERTH_TRACKER_SETTINGS_CPU_POLICY_H_
#define BERTH_TRACKER_SETTINGS_CPU_POLICY_H_

#include "absl/status/statusor.h"
#include "tracker/settings/configuration.h"
#include "tracker/settings/cpu_set.h"

namespace berth::tracker {

struct GuestCpus {
  CpuSet shared;     // counted in the resource class VCPU
  CpuSet dedicated;  // counted in the resource class PCPU
  // If true, the NUMA topology lists the shared CPUs as dedicated CPUs, too (T-266).
  bool legacy = false;
};

// Chooses the CPUs by the settings. If none is set, guests share all online CPUs.
//
// InvalidArgument if a set has a CPU that is not online (T-74). The message has the name of the
// setting, its CPUs and the host's CPUs. A dedicated CPU under power management may be offline, but
// it must be present (T-75).
absl::StatusOr<GuestCpus> SelectGuestCpus(const NodeConfiguration& configuration,
                                          const CpuSet& online, const CpuSet& present);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_CPU_POLICY_H_
