// Which host CPUs guests may share and which they may own.
//
// Pure functions of values.
#ifndef BERTH_TRACKER_SETTINGS_CPU_POLICY_H_
#define BERTH_TRACKER_SETTINGS_CPU_POLICY_H_

#include "absl/status/statusor.h"
#include "tracker/settings/configuration.h"
#include "tracker/settings/cpu_set.h"

namespace berth::tracker {

struct GuestCpus {
  CpuSet shared;     // VCPU
  CpuSet dedicated;  // PCPU
  // The same CPUs serve both kinds of guest CPU in the NUMA topology (T-266).
  bool legacy = false;
};

// InvalidArgument, naming option, configured and host lists, when a configured set leaves the CPUs
// that are online, or for dedicated CPUs under power management present (T-74, T-75).
absl::StatusOr<GuestCpus> SelectGuestCpus(const NodeConfiguration& configuration,
                                          const CpuSet& online, const CpuSet& present);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_CPU_POLICY_H_
