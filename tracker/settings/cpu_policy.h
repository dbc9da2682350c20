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
  // In the NUMA topology the shared CPUs are also listed as dedicated CPUs (T-266).
  bool legacy = false;
};

// Chooses the CPUs by the settings. Without any setting guests share all online CPUs.
//
// InvalidArgument, with the name of the setting, its CPUs and the host's CPUs, if a set has a CPU
// that is not online (T-74). A dedicated CPU under power management need only be present (T-75).
absl::StatusOr<GuestCpus> SelectGuestCpus(const NodeConfiguration& configuration,
                                          const CpuSet& online, const CpuSet& present);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_CPU_POLICY_H_
