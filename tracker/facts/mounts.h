// Finds the file system of a path in the kernel's list of mounts, without touching the path.
//
// Pure functions. A path on a dead file server hangs whoever touches it; the list of mounts never
// does. Symbolic links are not followed: a path below a link is taken for a path on the file system
// that has the link. So callers should pass the real path if they know it.
#ifndef BERTH_TRACKER_FACTS_MOUNTS_H_
#define BERTH_TRACKER_FACTS_MOUNTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace berth::tracker {

struct Mount {
  std::string point;   // the directory, for example /var/lib/instances
  std::string type;    // ext4, nfs4, ceph, ...
  std::string source;  // the device, or the name of the remote file system
};

// Parses the text of /proc/self/mountinfo. Lines of another form are skipped.
std::vector<Mount> ParseMounts(absl::string_view mountinfo);

// Returns the file system of `path`: the one mounted last of those at the longest directory that
// begins `path`. Null if there is none. The pointer points into `mounts`.
const Mount* FindMount(const std::vector<Mount>& mounts, absl::string_view path);

// Returns the name of the file server that has the file system; for a file system without a server,
// its directory. If a server dies, everything with its name hangs, whatever the server exports.
std::string ServerOf(const Mount& mount);

// Returns an id of a file system that several hosts can mount. Hosts that mount the same one by the
// same name have the same id (T-312). Characters outside ASCII are escaped. Empty for a file system
// that only one host can have, for types that are not known, and if the id would be longer than 255
// bytes.
std::string SharedStorageId(const Mount& mount);
// The same for a Ceph pool. Empty if the id would be longer than 255 bytes.
std::string PoolStorageId(absl::string_view cluster_id, absl::string_view pool);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_MOUNTS_H_
