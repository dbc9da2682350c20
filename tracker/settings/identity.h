// Who a node is: its persistent uuid, kept in a file, and whether that agrees with placement's
// records.
//
// The checks are functions of values; the file functions touch only the paths that they are given.
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
  bool created = false;  // it was made just now: no file held one
};

// Looks for the identity file in `directories`, in order (T-15).
//
// Nothing when none is there. FailedPrecondition naming the file when one cannot be read or holds
// no uuid, and naming both when two disagree (T-16).
absl::StatusOr<std::optional<NodeIdentity>> FindIdentity(
    const std::vector<std::string>& directories);

// Writes a new identity file so that a crash leaves either all of it or none (T-17, T-19).
//
// AlreadyExists when a file is there by now: it is left alone. FailedPrecondition for any other
// failure.
absl::Status WriteIdentity(const std::string& directory, absl::string_view uuid);

// Finds the identity of a node, or makes one in the last of `directories`, which is created when
// missing. Fails as the two above do; never overwrites.
absl::StatusOr<NodeIdentity> EnsureIdentity(const std::vector<std::string>& directories);

// Where the identity of a node lives: the configuration directories and the state directory with
// one node, `<state>/nodes/NAME` with several (T-15). InvalidArgument when NAME cannot be a file
// name.
absl::StatusOr<std::vector<std::string>> IdentityDirectories(
    const std::vector<std::string>& configuration_directories, const std::string& state_path,
    const std::string& node_name, bool several_nodes);

// The uuids of nodes that this state directory once held and that are none of `own` (T-40); none unless
// `complete`: all nodes that are configured have found their identity.
std::vector<std::string> FindRetired(const std::string& state_path,
                                     const std::vector<std::string>& own, bool complete);

// A node record as placement keeps it.
struct NodeRecord {
  std::string uuid;
  std::string name;
  std::string host;
};

struct IdentityCheck {
  std::vector<std::string> warnings;  // a first start, a move from another host
};

// Compares a node with the records that placement has by its uuid, its name or its host (T-20).
//
// FailedPrecondition, first match: the uuid's record has another name (possible rename: d); it has
// another host and this tracker has one node (e); another uuid owns the name on any host (T-12);
// the identity file was missing although placement knows nodes of this host (lost state: a).
absl::StatusOr<IdentityCheck> CheckIdentity(const NodeIdentity& identity, absl::string_view name,
                                            absl::string_view host, bool several_nodes,
                                            const std::vector<NodeRecord>& records);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_IDENTITY_H_
