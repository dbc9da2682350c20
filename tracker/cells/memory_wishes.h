// Reads from flavor and image which memory pages a guest asks for (T-272).
//
// Pure functions.
#ifndef BERTH_TRACKER_CELLS_MEMORY_WISHES_H_
#define BERTH_TRACKER_CELLS_MEMORY_WISHES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tracker/cells/wishes.h"

namespace berth::tracker {

// Returns a size in KiB, or kSmallPages, kLargePages, kAnyPages or kNoPageSize. A size is a number of
// KiB, or a number with a unit, for example 2MB or 1GB. The size 0 is kNoPageSize.
//
// kPageSizeForbidden if the image gives a size but the flavor's value is neither `any` nor `large`;
// kPageSizeInvalid if a text is neither small, large, any or 0, nor a size of 1 KiB to 1 PiB.
absl::StatusOr<int64_t> ReadPageSize(const GuestWishes& wishes);

// Checks whether the memory of the guest can be locked in the host's memory.
//
// kLockedMemoryConflict if flavor and image contradict each other; kLockedMemoryNeedsPageSize if
// memory is to be locked and neither of them gives a page size.
absl::Status CheckLockedMemory(const GuestWishes& wishes);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CELLS_MEMORY_WISHES_H_
