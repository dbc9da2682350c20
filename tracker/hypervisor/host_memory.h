// Computes the memory in use from the text of /proc/meminfo.
//
// A pure function.
#ifndef BERTH_TRACKER_HYPERVISOR_HOST_MEMORY_H_
#define BERTH_TRACKER_HYPERVISOR_HOST_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::tracker {

// Returns MemTotal - (MemFree + Buffers + Cached) in MiB, rounded down (T-80). InvalidArgument if
// one of these fields is missing.
absl::StatusOr<int64_t> UsedMemoryMib(absl::string_view meminfo);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_HOST_MEMORY_H_
