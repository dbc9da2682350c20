// StorageProbes: reads image files and the node's storage, and stops waiting for a dead file
// server.
//
// If a path is on a file server that is gone, reading the path hangs until the server is back. The
// probes therefore run on threads of their own, and never on the threads of libvirt's calls. Not
// thread-safe. A read that still hangs keeps its thread, and may outlive the probes.
//
// Invariants:
//   1. At most one read hangs per path: while it hangs, the path is not read again.
//   2. While `hung_max` images hang, no further image is read.
#ifndef BERTH_TRACKER_HYPERVISOR_STORAGE_PROBES_H_
#define BERTH_TRACKER_HYPERVISOR_STORAGE_PROBES_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tracker/facts/disk.h"
#include "tracker/hypervisor/deadline_pool.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

// The outcome of reading one image or the storage.
template <typename T>
struct Probe {
  absl::Status status;
  // The reading. If `status` is kDeadlineExceeded or kUnavailable, this is the last reading that
  // succeeded, if no other failure came after it. After every other failure it is absent.
  std::optional<T> value;
};

class StorageProbes {
 public:
  struct Options {
    int parallel_max = 4;  // images that are read at the same time
    int hung_max = 16;
    // How long to wait for one image, or for one file system.
    absl::Duration read_timeout = absl::Seconds(3);
    // How long to wait for the program that describes a volume group or a Ceph pool.
    absl::Duration command_timeout = absl::Seconds(60);
  };
  explicit StorageProbes(const Options& options);

  // Reads every image of `paths`. Forgets the earlier readings of other images, unless a read still
  // hangs. The status of an image is
  //
  //   kDeadlineExceeded   the read did not end in time, and hangs from now on
  //   kUnavailable        an earlier read of this path still hangs, or too many images hang
  //   else                the status that ReadImage returned
  std::map<std::string, Probe<ImageReading>> Images(const std::set<std::string>& paths);

  // Reads the node's storage as ReadStorage does. The status of the probe is kDeadlineExceeded if
  // the read did not end in time, kUnavailable if an earlier read still hangs, else the status that
  // ReadStorage returned.
  Probe<StorageReading> Storage(const NodeConfiguration& configuration,
                                const std::string& instances_path);

  // How many reads hang now. Thread-safe.
  int hung() const { return image_pool_.hung() + storage_pool_.hung(); }

 private:
  struct Image {
    std::optional<ImageReading> last;
    std::weak_ptr<absl::StatusOr<ImageReading>> running;  // alive while a read of the image hangs
  };
  using ImageAtPath = std::pair<const std::string, Image>;

  void ReadTogether(const std::vector<ImageAtPath*>& images,
                    std::map<std::string, Probe<ImageReading>>* probes);

  const Options options_;
  DeadlinePool image_pool_;
  DeadlinePool storage_pool_;
  std::map<std::string, Image> images_;  // by path
  std::optional<StorageReading> last_storage_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_STORAGE_PROBES_H_
