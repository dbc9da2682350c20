// Reads from flavor and image how the virtual CPUs of a guest use host CPUs (T-271).
//
// Pure functions.
#ifndef BERTH_TRACKER_CELLS_CPU_WISHES_H_
#define BERTH_TRACKER_CELLS_CPU_WISHES_H_

#include <optional>

#include "absl/status/statusor.h"
#include "tracker/cells/topology.h"
#include "tracker/cells/wishes.h"
#include "tracker/settings/cpu_set.h"

namespace berth::tracker {

struct CpuWishes {
  std::optional<CpuPolicy> policy;
  std::optional<CpuThreadPolicy> thread_policy;
  std::optional<EmulatorThreadsPolicy> emulator_threads_policy;
  CpuSet pinned;  // the virtual CPUs that get a host CPU of their own

  bool wants_pins() const { return policy == CpuPolicy::kDedicated || policy == CpuPolicy::kMixed; }
};

// Refuses unknown policies, contradictions between flavor and image or between two settings, and
// masks that are empty, name all vCPUs, or name a vCPU that the guest does not have. Exception: the
// realtime mask may name all vCPUs if the flavor has any policy for emulator threads.
//
// REQUIRES: 1 <= wishes.vcpus <= CpuSet::kMaxCpu + 1.
absl::StatusOr<CpuWishes> ReadCpuWishes(const GuestWishes& wishes);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CELLS_CPU_WISHES_H_
