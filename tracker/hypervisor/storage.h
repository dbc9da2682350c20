// Reads the storage that guests' local disks live on, and single images.
//
// Every call may hang on a dead file server: run them with a deadline.
#ifndef BERTH_TRACKER_HYPERVISOR_STORAGE_H_
#define BERTH_TRACKER_HYPERVISOR_STORAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tracker/facts/disk.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

// The file system of `path`, or of the nearest directory above it that exists (T-82).
absl::StatusOr<StorageReading> ReadFileSystem(const std::string& path);

// The node's backend (T-82): the file system of `instances_path`, a volume group (three attempts), or a
// Ceph pool. Internal when the tool fails, NotFound when tool or pool is missing.
absl::StatusOr<StorageReading> ReadStorage(const NodeConfiguration& configuration,
                                           const std::string& instances_path,
                                           absl::Duration timeout);

// One image file. NotFound when it is gone, PermissionDenied when it is someone else's, else Internal.
absl::StatusOr<ImageReading> ReadImage(const std::string& path);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_STORAGE_H_
