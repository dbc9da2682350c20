#include "tests/processes/dead_mount.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/ground/check.h"
#include "tests/processes/own_mounts.h"

namespace berth::e2e {

absl::Status DeadMount::SeparateMounts() {
  if (access("/dev/fuse", R_OK | W_OK) != 0) return absl::ErrnoToStatus(errno, "/dev/fuse");
  return e2e::SeparateMounts();
}

DeadMount::DeadMount(std::string directory)
    : directory_(std::move(directory)), device_(open("/dev/fuse", O_RDWR | O_CLOEXEC)) {
  const std::string options =
      absl::StrCat("fd=", device_, ",rootmode=40000,user_id=0,group_id=0,allow_other");
  BERTH_CHECK(mount("dead", directory_.c_str(), "fuse", 0, options.c_str()) == 0);
}

DeadMount::~DeadMount() {
  close(device_);
  BERTH_CHECK(umount2(directory_.c_str(), MNT_DETACH) == 0);
}

}  // namespace berth::e2e
