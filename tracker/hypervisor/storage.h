// Reads the size of the storage that holds guests' local disks, and the size of an image.
//
// Thread-safe. While a file server is gone, each of these calls may hang. So only StorageProbes
// calls them.
#ifndef BERTH_TRACKER_HYPERVISOR_STORAGE_H_
#define BERTH_TRACKER_HYPERVISOR_STORAGE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tracker/facts/disk.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

// Reads the file system of `path`. If `path` does not exist, reads the file system of the nearest
// directory above `path` that exists (T-82).
absl::StatusOr<StorageReading> ReadFileSystem(const std::string& path);

// Reads the storage that `configuration` names (T-82): the file system of `instances_path` with the
// image cache (T-88), a volume group, or a Ceph pool. Fails as RunCommand and the parser of the command's output do. The
// command for a volume group is tried three times within `timeout`. `cluster_id`: the id of the
// Ceph cluster, if an earlier reading has it; else Ceph is asked for it. The reading has no id if
// Ceph does not answer this question in a short time.
absl::StatusOr<StorageReading> ReadStorage(const NodeConfiguration& configuration,
                                           const std::string& instances_path,
                                           const std::string& cluster_id, absl::Duration timeout);

// Reads one image: a file, or a block device, which is never opened. If a file has not changed since
// `last` was read, its header is not read again (T-360). NotFound if the image does not exist,
// PermissionDenied if the tracker may not read it, Internal for every other failure.
absl::StatusOr<ImageReading> ReadImage(const std::string& path,
                                       const std::optional<ImageReading>& last);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_STORAGE_H_
