#include "tracker/settings/identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tracker/ground/status_macros.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

constexpr size_t kIdentityBytesMax = 40;  // more is not read (T-15)
constexpr size_t kOwnerBytesMax = 4096;   // names of nodes are shorter

absl::Status Failed(absl::string_view what, absl::string_view path, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat("node identity: cannot ", what, " ", path, ": ", std::strerror(error)));
}

// Returns at most `bytes_max` bytes of a file; nothing if there is no such file.
absl::StatusOr<std::optional<std::string>> ReadFile(const std::string& path, size_t bytes_max) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<std::string>();
    return Failed("open", path, errno);
  }
  std::string text(bytes_max, '\0');
  const ssize_t size = read(file, text.data(), text.size());
  const int error = errno;
  close(file);
  if (size < 0) return Failed("read", path, error);
  text.resize(static_cast<size_t>(size));
  return text;
}

// Returns nothing if there is no such file.
absl::StatusOr<std::optional<Uuid>> ReadIdentityFile(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadFile(path, kIdentityBytesMax));
  if (!text) return std::optional<Uuid>();
  const std::optional<Uuid> uuid = ParseName(absl::StripAsciiWhitespace(*text));
  if (!uuid) {
    return absl::FailedPreconditionError(
        absl::StrCat("node identity: ", path, " does not contain a uuid"));
  }
  return uuid;
}

absl::Status SyncDirectory(const std::string& directory) {
  const int handle = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return Failed("open", directory, errno);
  const bool synced = fsync(handle) == 0;
  const int error = errno;
  close(handle);
  return synced ? absl::OkStatus() : Failed("sync", directory, error);
}

absl::Status WriteSynced(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return Failed("create", path, errno);
  const ssize_t written = write(file, text.data(), text.size());
  const bool whole = written == static_cast<ssize_t>(text.size()) && fsync(file) == 0;
  const int error = errno;
  close(file);
  return whole ? absl::OkStatus() : Failed("write", path, error);
}

// Writes a file beside `path` under a name that nobody else uses, and returns its path.
absl::StatusOr<std::string> WriteBeside(const std::string& path, const std::string& text) {
  std::string temporary = absl::StrCat(path, ".", getpid(), ".", Uuid::Random().ToString());
  const absl::Status written = WriteSynced(temporary, text);
  if (written.ok()) return temporary;
  unlink(temporary.c_str());
  return written;
}

bool CanBeFileName(absl::string_view name) {
  return !name.empty() && name != "." && name != ".." && !absl::StrContains(name, '/') &&
         !absl::StrContains(name, '\0');
}

std::string OwnDirectory(const std::string& state_path, absl::string_view node_name) {
  return absl::StrCat(state_path, "/nodes/", node_name);
}

// Returns nothing if no name is recorded.
absl::StatusOr<std::optional<std::string>> ReadIdentityOwner(const std::string& state_path) {
  const std::string path = absl::StrCat(state_path, "/", kIdentityOwnerFileName);
  BERTH_ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadFile(path, kOwnerBytesMax));
  if (!text) return text;
  return std::optional<std::string>(absl::StripSuffix(*text, "\n"));
}

absl::Status UnknownOwner(const NodeIdentity& shared, const std::string& state_path,
                          const std::string& own) {
  return absl::FailedPreconditionError(absl::StrCat(
      "node identity: ", shared.path,
      " has the uuid of one hypervisor, but nothing says of which: move the file to ", own, "/",
      kIdentityFileName,
      " if `berth node show` prints this uuid for this hypervisor, otherwise to the directory of "
      "the hypervisor to which it belongs; move ",
      state_path, "/added_traits.json, if it exists, to the same directory"));
}

absl::Status PossibleRename(const NodeRecord& record, absl::string_view name) {
  return absl::FailedPreconditionError(absl::StrCat(
      "possible rename: the hypervisor is called ", name, " now, but placement knows it as node ",
      record.name, " (", record.uuid.ToString(),
      "): the tracker reports nothing until the hypervisor is called ", record.name,
      " again or the old record is deleted with `berth node delete ", record.name, "`"));
}

}  // namespace

absl::StatusOr<std::optional<NodeIdentity>> FindIdentity(
    const std::vector<std::string>& directories) {
  std::optional<NodeIdentity> found;
  for (const std::string& directory : directories) {
    const std::string path = absl::StrCat(directory, "/", kIdentityFileName);
    BERTH_ASSIGN_OR_RETURN(const std::optional<Uuid> uuid, ReadIdentityFile(path));
    if (!uuid) continue;
    if (!found) {
      found = NodeIdentity{*uuid, path, false};
    } else if (found->uuid != *uuid) {
      return absl::FailedPreconditionError(
          absl::StrCat("node identity: ", found->path, " contains the uuid ",
                       found->uuid.ToString(), ", but ", path, " contains ", uuid->ToString(),
                       ": keep the file with the uuid that `berth node show` prints for this "
                       "node, and remove the other"));
    }
  }
  return found;
}

absl::Status WriteIdentity(const std::string& directory, const Uuid& uuid) {
  const std::string path = absl::StrCat(directory, "/", kIdentityFileName);
  BERTH_ASSIGN_OR_RETURN(const std::string temporary,
                         WriteBeside(path, absl::StrCat(uuid.ToString(), "\n")));
  // link() instead of rename(), which would overwrite `path` if another process has created it
  // meanwhile.
  const bool linked = link(temporary.c_str(), path.c_str()) == 0;
  const int error = errno;
  unlink(temporary.c_str());
  if (!linked && error == EEXIST) {
    return absl::AlreadyExistsError(
        absl::StrCat("node identity: ", path, " was created by another process meanwhile"));
  }
  if (!linked) return Failed("link", path, error);
  return SyncDirectory(directory);
}

absl::StatusOr<NodeIdentity> EnsureIdentity(const std::vector<std::string>& directories) {
  BERTH_ASSIGN_OR_RETURN(std::optional<NodeIdentity> found, FindIdentity(directories));
  if (found) return *found;
  const std::string& directory = directories.back();
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) return Failed("create directory", directory, failure.value());
  NodeIdentity identity{Uuid::Random(), absl::StrCat(directory, "/", kIdentityFileName), true};
  BERTH_RETURN_IF_ERROR(WriteIdentity(directory, identity.uuid));
  return identity;
}

absl::StatusOr<std::vector<std::string>> IdentityDirectories(
    const std::vector<std::string>& configuration_directories, const std::string& state_path,
    const std::string& node_name, bool several_nodes) {
  if (several_nodes && !CanBeFileName(node_name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("node name '", node_name, "' cannot be the name of a directory"));
  }
  BERTH_ASSIGN_OR_RETURN(const std::optional<std::string> owner, ReadIdentityOwner(state_path));
  std::vector<std::string> shared = configuration_directories;
  shared.push_back(state_path);
  if (!CanBeFileName(node_name)) return shared;
  const std::string own = OwnDirectory(state_path, node_name);
  BERTH_ASSIGN_OR_RETURN(const std::optional<NodeIdentity> of_own, FindIdentity({own}));
  const bool is_owner = owner && *owner == node_name;
  if (is_owner || (!several_nodes && (!owner || !of_own))) {
    shared.insert(shared.end() - 1, own);
    return shared;
  }
  if (!owner && !of_own) {
    BERTH_ASSIGN_OR_RETURN(const std::optional<NodeIdentity> of_one, FindIdentity(shared));
    if (of_one) return UnknownOwner(*of_one, state_path, own);
  }
  return std::vector<std::string>{own};
}

std::string NodeDirectory(const NodeIdentity& identity, const std::string& state_path) {
  const bool is_own = absl::StartsWith(identity.path, OwnDirectory(state_path, ""));
  return is_own ? std::filesystem::path(identity.path).parent_path().string() : state_path;
}

absl::Status WriteIdentityOwner(const std::string& state_path, absl::string_view node_name) {
  const std::string path = absl::StrCat(state_path, "/", kIdentityOwnerFileName);
  BERTH_ASSIGN_OR_RETURN(const std::optional<std::string> owner, ReadIdentityOwner(state_path));
  if (owner && *owner == node_name) return absl::OkStatus();
  BERTH_ASSIGN_OR_RETURN(const std::string temporary,
                         WriteBeside(path, absl::StrCat(node_name, "\n")));
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    return Failed("rename", temporary, error);
  }
  return SyncDirectory(state_path);
}

std::vector<Uuid> FindRetired(const std::string& state_path, const std::vector<Uuid>& own,
                              bool complete) {
  std::vector<Uuid> retired;
  if (!complete) return retired;  // a node that was not reached yet would look retired
  std::vector<std::string> directories = {state_path};
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(state_path + "/nodes", ignored)) {
    directories.push_back(entry.path().string());
  }
  for (const std::string& directory : directories) {
    const absl::StatusOr<std::optional<NodeIdentity>> found = FindIdentity({directory});
    if (!found.ok() || !*found) continue;
    const Uuid& uuid = (*found)->uuid;
    if (std::find(own.begin(), own.end(), uuid) == own.end()) retired.push_back(uuid);
  }
  return retired;
}

absl::StatusOr<IdentityCheck> CheckIdentity(const NodeIdentity& identity, absl::string_view name,
                                            absl::string_view host, bool several_nodes,
                                            const std::vector<NodeRecord>& records) {
  IdentityCheck check;
  const NodeRecord* by_uuid = nullptr;
  for (const NodeRecord& record : records) {
    if (record.uuid == identity.uuid) by_uuid = &record;
  }
  if (by_uuid != nullptr && by_uuid->name != name) return PossibleRename(*by_uuid, name);
  if (by_uuid != nullptr && by_uuid->host != host) {
    const std::string moved = absl::StrCat("placement has node ", name, " on host ", by_uuid->host,
                                           ", but this is host ", host);
    if (!several_nodes) return absl::FailedPreconditionError(moved);
    check.warnings.push_back(moved);
  }
  for (const NodeRecord& record : records) {
    if (record.uuid == identity.uuid || record.name != name) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "name conflict: placement has a node ", name, " with uuid ", record.uuid.ToString(),
        " on host ", record.host, ", but the identity file ", identity.path, " has uuid ",
        identity.uuid.ToString(),
        identity.created ? ", which is new, so the old uuid was lost (lost state)" : ""));
  }
  for (const NodeRecord& record : records) {
    const bool lost = identity.created && by_uuid == nullptr;
    if (!lost || several_nodes || record.host != host) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("lost state: placement has node ", record.uuid.ToString(), " of host ", host,
                     ", but no identity file was found: restore it, or delete the node"));
  }
  if (by_uuid == nullptr) {
    check.warnings.push_back(
        absl::StrCat("placement has no record of node ", name,
                     ", which is normal when a node starts for the first time"));
  }
  return check;
}

}  // namespace berth::tracker
