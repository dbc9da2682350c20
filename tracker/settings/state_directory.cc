#include "tracker/settings/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

absl::Status Failed(absl::string_view what, const std::string& path, int error) {
  const std::string text =
      absl::StrCat("state directory: cannot ", what, " ", path, ": ", std::strerror(error));
  if (error == EACCES || error == EPERM || error == EROFS) {
    return absl::PermissionDeniedError(text);
  }
  return absl::InternalError(text);
}

std::string FirstWord(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StateDirectory>> StateDirectory::Open(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) return Failed("create", path, failure.value());
  const std::string lock_path = absl::StrCat(path, "/lock");
  const int lock = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) return Failed("write to", path, errno);
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    close(lock);
    if (error != EWOULDBLOCK) return Failed("lock", lock_path, error);
    return absl::FailedPreconditionError(
        absl::StrCat("state directory: ", path, " is in use by process ", FirstWord(lock_path)));
  }
  const std::string owner = absl::StrCat(getpid(), "\n");
  if (ftruncate(lock, 0) != 0 ||
      pwrite(lock, owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size())) {
    const int error = errno;
    close(lock);
    return Failed("write to", lock_path, error);
  }
  return std::unique_ptr<StateDirectory>(new StateDirectory(path, lock));
}

StateDirectory::~StateDirectory() { close(lock_); }

absl::StatusOr<std::string> MachineId(const StateDirectory& state) {
  std::string id = FirstWord("/etc/machine-id");
  if (!id.empty() && id != "uninitialized") return id;
  const std::string path = absl::StrCat(state.path(), "/machine_id");
  id = FirstWord(path);
  if (!id.empty()) return id;
  id = Uuid::Random().ToString();
  std::ofstream file(path);
  file << id << '\n';
  file.flush();
  if (!file) return Failed("write", path, errno);
  return id;
}

}  // namespace berth::tracker
