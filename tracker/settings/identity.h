// The identity of a node: a uuid that is kept in a file, and that must agree with placement's
// records.
//
// CheckIdentity is a pure function. The others read and write files below the directories that they
// are given. Thread-safe.
#ifndef BERTH_TRACKER_SETTINGS_IDENTITY_H_
#define BERTH_TRACKER_SETTINGS_IDENTITY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::tracker {

inline constexpr char kIdentityFileName[] = "compute_id";

struct NodeIdentity {
  std::string uuid;
  std::string path;      // the first file that holds it
  bool created = false;  // no file held a uuid, so that this one was drawn just now
};

// Looks for identity files in `directories`, in their order (T-15). Returns nothing if there is
// none.
//
// FailedPrecondition with the path if a file cannot be read or does not hold a uuid, and with both
// paths if two files hold different uuids (T-16).
absl::StatusOr<std::optional<NodeIdentity>> FindIdentity(
    const std::vector<std::string>& directories);

// Writes a new identity file. After a crash the file is complete or absent (T-17, T-19).
//
// AlreadyExists if the file exists already; it is not changed. FailedPrecondition for every other
// failure.
absl::Status WriteIdentity(const std::string& directory, absl::string_view uuid);

// Finds the identity of a node, or else writes a new one into the last of `directories`, which is
// created if it does not exist. Fails as FindIdentity and WriteIdentity do; never overwrites a
// file.
absl::StatusOr<NodeIdentity> EnsureIdentity(const std::vector<std::string>& directories);

// Returns the directories that may hold a node's identity file (T-15). If the tracker has one node:
// the configuration directories, then the state directory. If it has several: only
// `<state>/nodes/NAME`, and InvalidArgument if NAME cannot be a file name.
absl::StatusOr<std::vector<std::string>> IdentityDirectories(
    const std::vector<std::string>& configuration_directories, const std::string& state_path,
    const std::string& node_name, bool several_nodes);

// Returns the uuids of retired nodes: those that have an identity file below the state directory
// and are not in `own` (T-40). Returns none unless `complete`, which says that every configured
// node has found its identity and is in `own`.
std::vector<std::string> FindRetired(const std::string& state_path,
                                     const std::vector<std::string>& own, bool complete);

// A node as placement has recorded it.
struct NodeRecord {
  std::string uuid;
  std::string name;
  std::string host;
};

struct IdentityCheck {
  std::vector<std::string> warnings;  // the node is new, or was recorded under another host
};

// Compares a node with placement's records that have its uuid, its name or its host (T-20).
//
// FailedPrecondition for the first of these that holds:
//   the record with the node's uuid has another name: the hypervisor was renamed;
//   that record has another host, and this tracker has only one node;
//   another uuid is recorded with the node's name, under whichever host (T-12);
//   the identity file was missing although placement has nodes of this host: the state was lost.
absl::StatusOr<IdentityCheck> CheckIdentity(const NodeIdentity& identity, absl::string_view name,
                                            absl::string_view host, bool several_nodes,
                                            const std::vector<NodeRecord>& records);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_IDENTITY_H_
