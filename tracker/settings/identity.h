// The identity of a node: a uuid that is kept in a file, and that must agree with placement's
// records.
//
// CheckIdentity is a pure function. The other functions read and write files in the directories
// that the caller names. Thread-safe.
#ifndef BERTH_TRACKER_SETTINGS_IDENTITY_H_
#define BERTH_TRACKER_SETTINGS_IDENTITY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

inline constexpr char kIdentityFileName[] = "compute_id";
// In the state directory: the name of the node to which the identity file there, or in a
// configuration directory, belongs.
inline constexpr char kIdentityOwnerFileName[] = "compute_name";

struct NodeIdentity {
  Uuid uuid;
  std::string path;      // the first file that has this uuid
  bool created = false;  // no file had a uuid, so this uuid was just drawn
};

// Looks for identity files in `directories`, in their order (T-15). Returns nothing if there is no
// identity file.
//
// FailedPrecondition if a file cannot be read or does not contain a uuid; the message has the path.
// FailedPrecondition also if two files contain different uuids; the message has both paths (T-16).
absl::StatusOr<std::optional<NodeIdentity>> FindIdentity(
    const std::vector<std::string>& directories);

// Writes a new identity file. After a crash the file is complete or absent (T-17, T-19).
//
// AlreadyExists if the file exists already; that file is not changed. FailedPrecondition for every
// other failure.
absl::Status WriteIdentity(const std::string& directory, const Uuid& uuid);

// Finds the identity of a node. If there is none, writes a new one into the last of `directories`,
// and creates this directory if it does not exist. Fails as FindIdentity and WriteIdentity do.
// Never overwrites a file.
absl::StatusOr<NodeIdentity> EnsureIdentity(const std::vector<std::string>& directories);

// Returns the directories in which the identity file of a node may be, the one for a new file last
// (T-15). The configuration directories and the state directory are shared: their identity file
// belongs to one of the nodes that the tracker has had. `<state>/nodes/NAME` is of node NAME alone.
//
// A node looks into the shared directories and its own if WriteIdentityOwner has recorded its name.
// If no name is recorded, then the only node of a tracker does the same. Every other node looks
// into its own directory only, with one exception: the only node of a tracker that has no identity
// file of its own looks into the shared directories although another name is recorded there. The
// hypervisor was renamed then, which CheckIdentity finds.
//
// InvalidArgument if the tracker has several nodes and NAME cannot be a file name.
// FailedPrecondition if the tracker has several nodes, no name is recorded, the node has no
// identity file of its own, and the shared directories have one: it could be that of any node.
// FailedPrecondition also if a file cannot be read.
absl::StatusOr<std::vector<std::string>> IdentityDirectories(
    const std::vector<std::string>& configuration_directories, const std::string& state_path,
    const std::string& node_name, bool several_nodes);

// Returns the directory for what else the tracker keeps of a node: the node's own directory if its
// identity file is there, otherwise the state directory.
std::string NodeDirectory(const NodeIdentity& identity, const std::string& state_path);

// Records in the state directory that the identity file in the shared directories belongs to
// `node_name`. Replaces another name. After a crash the file is the old one or the new one. To be
// called when placement's records agree with the identity (CheckIdentity): until then another name
// is a rename, which may be taken back.
//
// FailedPrecondition if the file cannot be written.
absl::Status WriteIdentityOwner(const std::string& state_path, absl::string_view node_name);

// Returns the uuids of retired nodes. A node is retired if it has an identity file below the state
// directory and its uuid is not in `own` (T-40). Returns none if `complete` is false. `complete`
// says that every configured node has found its identity, so that `own` has all uuids.
std::vector<Uuid> FindRetired(const std::string& state_path, const std::vector<Uuid>& own,
                              bool complete);

// A node as placement has recorded it.
struct NodeRecord {
  Uuid uuid;
  std::string name;
  std::string host;
};

struct IdentityCheck {
  std::vector<std::string> warnings;  // the node is new, or was recorded under another host
};

// Compares a node with the records of placement that have the node's uuid, name or host (T-20).
//
// FailedPrecondition for the first of these problems that exists:
//   the record with the node's uuid has another name: the hypervisor was renamed;
//   the record with the node's uuid has another host, and this tracker has only one node;
//   a record with the node's name has another uuid, under whichever host (T-12);
//   this tracker has only one node and lost its identity file: placement has nodes of this host.
absl::StatusOr<IdentityCheck> CheckIdentity(const NodeIdentity& identity, absl::string_view name,
                                            absl::string_view host, bool several_nodes,
                                            const std::vector<NodeRecord>& records);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_IDENTITY_H_
