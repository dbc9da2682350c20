// DeadMount: a file system that never answers, mounted over a directory. Every look at the
// directory, or at a file below it, hangs in the kernel, as on a mount of a file server that is
// gone.
//
// It is a FUSE mount without a server. Only this process and the processes that it starts after
// SeparateMounts see it.
#ifndef BERTH_TESTS_PROCESSES_DEAD_MOUNT_H_
#define BERTH_TESTS_PROCESSES_DEAD_MOUNT_H_

#include <string>

#include "absl/status/status.h"

namespace berth::e2e {

class DeadMount {
 public:
  // Gives the calling thread, and what it starts, mounts of its own. PermissionDenied if this
  // process may not mount.
  static absl::Status SeparateMounts();

  // From here on every look hangs. Ends the program if the directory cannot be mounted.
  explicit DeadMount(std::string directory);
  // Every look that hangs fails, and the files that were in the directory before are back.
  ~DeadMount();
  DeadMount(const DeadMount&) = delete;
  DeadMount& operator=(const DeadMount&) = delete;

 private:
  const std::string directory_;
  const int device_;
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_PROCESSES_DEAD_MOUNT_H_
