// StorageProbes: reads image files and the node's storage, and stops waiting for a dead file
// server.
//
// If a path is on a file server that is gone, reading the path hangs until the server is back. The
// probes therefore run on threads of their own, and never on the threads of libvirt's calls. Not
// thread-safe. A read that still hangs keeps its thread, and may outlive the probes.
//
// A group is a set of images that hang together: those on one file server, or on one local file
// system. A path may lead to its image through a symbolic link, which only a read can follow. Until
// the first read of such a path has ended, the path belongs to the file system that has the link.
//
// Invariants:
//   1. At most one read hangs per path: while it hangs, the path is not read again.
//   2. While a read hangs, no other read of its group begins, and every pass reads one image of each
//      group before it reads the others. So a server that is dead when a pass begins costs one
//      thread and one `read_timeout`, however many images it has, and images of other groups are
//      read as ever. A server that dies while its images are read costs `parallel_max` threads.
//   3. While `hung_max` images hang, no image is read.
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
#include "tracker/facts/mounts.h"
#include "tracker/ground/uuid.h"
#include "tracker/hypervisor/deadline_pool.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

// The outcome of one read.
template <typename T>
struct Probe {
  absl::Status status;
  // The reading. If `status` is kDeadlineExceeded or kUnavailable, this is the last reading that
  // succeeded, if no other failure came after it. After every other failure it is absent.
  std::optional<T> value;
  // True if `value` is absent now, but the reading before had one.
  bool lost = false;
};

// A question to libvirt about the size of a disk. While the guest's emulator hangs, the question
// hangs too.
struct CapacityQuestion {
  Uuid guest_uuid;
  std::string target;  // the name of the disk in the guest
  std::string path;    // of the disk's image
  std::function<absl::StatusOr<int64_t>()> ask;
  bool wanted = true;  // false: an earlier answer about the same path suffices, if there was one
};

class StorageProbes {
 public:
  struct Options {
    int parallel_max = 4;  // images that are read, or questions that are asked, at the same time
    int hung_max = 16;
    // How long to wait for one image, for one file system, or for one answer about a disk.
    absl::Duration read_timeout = absl::Seconds(3);
    // How long to wait for the program that describes a volume group or a Ceph pool.
    absl::Duration command_timeout = absl::Seconds(60);
  };
  explicit StorageProbes(const Options& options);

  // Reads every image of `paths`. Forgets the earlier readings of other images, unless a read still
  // hangs. `mounts` says which images are a group. The status of an image is
  //
  //   kDeadlineExceeded   the read did not end in time, and hangs from now on
  //   kUnavailable        a read of the same group still hangs, or too many reads hang
  //   else                the status that ReadImage returned
  std::map<std::string, Probe<ImageReading>> Images(const std::set<std::string>& paths,
                                                    const std::vector<Mount>& mounts);

  // Asks the questions. Returns the answers in the order of `questions`, with statuses like those
  // of Images; the disks of a guest are a group. At most `parallel_max` questions hang, because each
  // of them occupies one of the few threads with which libvirt answers.
  std::vector<Probe<int64_t>> Capacities(const std::vector<CapacityQuestion>& questions);

  // Reads the node's storage as ReadStorage does. The status of the probe is kDeadlineExceeded if
  // the read did not end in time, kUnavailable if an earlier read still hangs, else the status that
  // ReadStorage returned.
  Probe<StorageReading> Storage(const NodeConfiguration& configuration,
                                const std::string& instances_path);

  // How many reads hang now. Thread-safe.
  int hung() const { return image_pool_.hung() + capacity_pool_.hung() + storage_pool_.hung(); }

 private:
  // One thing to read.
  template <typename T>
  struct Read {
    std::string key;  // two reads with the same key read the same thing
    std::string group;
    std::function<absl::StatusOr<T>()> work;
    bool wanted = true;  // false: the last reading suffices
  };
  // What is remembered of a read, by its key.
  template <typename T>
  struct Past {
    std::optional<T> last;
    std::string group;
    std::weak_ptr<absl::StatusOr<T>> running;  // alive while a read hangs
  };
  template <typename T>
  using Pasts = std::map<std::string, Past<T>>;

  template <typename T>
  std::map<std::string, Probe<T>> ReadAll(const std::vector<Read<T>>& reads, DeadlinePool* pool,
                                          Pasts<T>* pasts);
  // Reads `reads`, except those in a group that `hanging` has. Adds the groups that hang from now on
  // to `hanging`.
  template <typename T>
  void ReadRound(const std::vector<const Read<T>*>& reads, DeadlinePool* pool, Pasts<T>* pasts,
                 std::map<std::string, std::string>* hanging,
                 std::map<std::string, Probe<T>>* probes);
  template <typename T>
  void ReadTogether(const std::vector<const Read<T>*>& reads, DeadlinePool* pool, Pasts<T>* pasts,
                    std::map<std::string, Probe<T>>* probes);

  const Options options_;
  DeadlinePool image_pool_;
  DeadlinePool capacity_pool_;
  DeadlinePool storage_pool_;
  Pasts<ImageReading> images_;  // by path
  Pasts<int64_t> capacities_;   // by guest, disk and path
  std::optional<StorageReading> last_storage_;
  std::string cluster_id_;  // of the Ceph cluster; empty: not known yet
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_STORAGE_PROBES_H_
