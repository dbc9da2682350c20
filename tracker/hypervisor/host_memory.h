// What /proc/meminfo says is in use.
#ifndef BERTH_TRACKER_HYPERVISOR_HOST_MEMORY_H_
#define BERTH_TRACKER_HYPERVISOR_HOST_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::tracker {

// MemTotal - (MemFree + Buffers + Cached) in MiB, rounded down, all from the same text (T-80).
//
// Field names are matched whole: SwapCached is not Cached. InvalidArgument when one is missing.
absl::StatusOr<int64_t> UsedMemoryMib(absl::string_view meminfo);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_HOST_MEMORY_H_
