// How much disk guests were promised and have not written yet, and what that leaves.
//
// Pure functions of values that storage.h and the hypervisor read.
#ifndef BERTH_TRACKER_FACTS_DISK_H_
#define BERTH_TRACKER_FACTS_DISK_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tracker/facts/domain_xml.h"

namespace berth::tracker {

// The storage that guests' local disks live on, in bytes. Total less used need not be free (T-82).
struct StorageReading {
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;
  int64_t used_bytes = 0;
};

// One image file as the file system tells it.
struct ImageReading {
  int64_t size_bytes = 0;
  int64_t allocated_bytes = 0;           // its blocks
  std::optional<int64_t> virtual_bytes;  // of an image format with a header that says so
};

// Promised and unwritten bytes of one disk of a domain (T-84). `volumes` are the targets that are
// volumes of the instance. A file whose `image` is absent, a disk without a path and any other kind
// of disk count 0.
int64_t OvercommittedBytes(const GuestDisk& disk, const std::optional<ImageReading>& image,
                           const std::set<std::string>& volumes);

// Size of a guest's local disk by its definition: the image's virtual size, else the size that the
// hypervisor told; 0 for removable media and for disks that live elsewhere.
int64_t LocalDiskBytes(const GuestDisk& disk, const std::optional<ImageReading>& image,
                       const std::optional<int64_t>& capacity_bytes);

// Whole GiB, towards zero (T-82, T-83).
int64_t TruncatedGib(int64_t bytes);

// Output of `vgs --noheadings --nosuffix --units b --separator | -o vg_size,vg_free`.
absl::StatusOr<StorageReading> ParseVolumeGroup(absl::string_view output);

// Output of `ceph df --format=json`; NotFound when `pool` is not in it.
absl::StatusOr<StorageReading> ParseCephUsage(absl::string_view output, absl::string_view pool);

// The virtual size in a qcow2 image's first bytes, or nothing when they are not one's.
std::optional<int64_t> Qcow2VirtualBytes(absl::string_view header);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_DISK_H_
