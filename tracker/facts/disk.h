// Computes disk sizes: the size of a guest's disks, and how much sparse images may still grow.
//
// Pure functions of values that storage.h and the hypervisor have read.
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

// The size of the storage for guests' local disks. `free_bytes` may be less than total minus used,
// because a file system can keep a part for the user root (T-82).
struct StorageReading {
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;
  int64_t used_bytes = 0;
  std::string cluster_id;  // of the Ceph cluster; empty: unknown, or the storage is another one
  // The space that cached images use. Absent: no cache is configured, or it could not be read.
  std::optional<int64_t> image_cache_bytes = {};
};

// The sizes of one image, which is a file or a block device.
struct ImageReading {
  int64_t size_bytes = 0;
  int64_t allocated_bytes = 0;           // space that a file uses on the disk
  std::optional<int64_t> virtual_bytes;  // size of the guest's disk, from a file's qcow2 header
  // While the sizes and these three stay the same, so does the header (T-360).
  uint64_t file_system = 0;
  uint64_t inode = 0;
  int64_t modified_nanoseconds = 0;
  std::string real_path = {};  // the path without symbolic links
};

// Returns by how many bytes the image of one disk may still grow (T-84). Returns 0 if the disk is
// not a file, has no path, or is a volume, and if `image` is absent because the file could not be
// read. `volumes`: the names, inside the guest, of the disks that are volumes.
int64_t OvercommittedBytes(const GuestDisk& disk, const std::optional<ImageReading>& image,
                           const std::set<std::string>& volumes);

// Whether the disk has an image on this host that counts: a file or a block device, and not a
// removable medium.
bool IsLocalDisk(const GuestDisk& disk);

// Whether the image alone tells the size of the guest's disk: it is raw, or a qcow2 file. A format
// that is not named is raw.
bool ImageTellsSize(const GuestDisk& disk);

// Returns the size of a guest's disk: that of the image, or that in its header, if the image tells
// it and could be read; else `capacity_bytes`, the size that the hypervisor told; else the size of
// the image. Returns 0 if the disk is not local.
int64_t LocalDiskBytes(const GuestDisk& disk, const std::optional<ImageReading>& image,
                       const std::optional<int64_t>& capacity_bytes);

// Returns whole GiB, rounded towards zero (T-82, T-83).
int64_t TruncatedGib(int64_t bytes);
// Like TruncatedGib. But returns `last`, the value of the pass before, if `bytes` differs by at most
// a quarter of a GiB from an amount that gives `last`. Otherwise free space that moves to and fro
// over a whole GiB, for example with the host's logs, would cause a report in every pass (T-393).
int64_t SteadyGib(int64_t bytes, const std::optional<int64_t>& last);

// Parses the output of `vgs --noheadings --nosuffix --units b --separator | -o vg_size,vg_free`.
// InvalidArgument if it has another form.
absl::StatusOr<StorageReading> ParseVolumeGroup(absl::string_view output);

// Parses the output of `ceph df --format=json`. The free space is what the pool can still take, and
// Ceph has counted every copy of the data for it.
//
// If `usable`, the used space is the data without their copies, as far as Ceph tells it, and the
// total is the used and the free space (T-357). Otherwise the used and the total space count every
// copy, and the total is that of the whole cluster (T-82).
//
// InvalidArgument if the output has another form, NotFound if it does not list `pool`.
absl::StatusOr<StorageReading> ParseCephUsage(absl::string_view output, absl::string_view pool,
                                              bool usable);

// Reads the virtual size from the first 32 bytes of a qcow2 image. Returns nothing if `header` is
// not the header of a qcow2 image.
std::optional<int64_t> Qcow2VirtualBytes(absl::string_view header);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_DISK_H_
