// SeparateMounts and MountOver: directories that this process, and the processes that it starts, see
// in the place of others. For the main thread.
#ifndef BERTH_TESTS_PROCESSES_OWN_MOUNTS_H_
#define BERTH_TESTS_PROCESSES_OWN_MOUNTS_H_

#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "placement/ground/check.h"

namespace berth::e2e {

// Gives the calling thread, and what it starts, mounts of its own. PermissionDenied if this process
// may not mount.
inline absl::Status SeparateMounts() {
  if (unshare(CLONE_NEWNS) != 0) return absl::ErrnoToStatus(errno, "unshare");
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "mount");
}

// Shows the directory `what` at the path `where` as long as this object lives.
//
// REQUIRES: SeparateMounts was OK, and both directories exist.
class MountOver {
 public:
  MountOver(const std::string& what, std::string where) : where_(std::move(where)) {
    BERTH_CHECK(mount(what.c_str(), where_.c_str(), nullptr, MS_BIND, nullptr) == 0);
  }
  ~MountOver() { BERTH_CHECK(umount2(where_.c_str(), MNT_DETACH) == 0); }
  MountOver(const MountOver&) = delete;
  MountOver& operator=(const MountOver&) = delete;

 private:
  const std::string where_;
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_PROCESSES_OWN_MOUNTS_H_
