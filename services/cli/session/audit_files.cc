#include "services/cli/session/audit_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "placement/ground/status_macros.h"

namespace berth::cli {
namespace {

constexpr char kPrefix[] = "audit-";
constexpr char kSuffix[] = ".jsonl";
constexpr mode_t kFileMode = 0640;
constexpr mode_t kDirectoryMode = 0750;

absl::Status Cannot(absl::string_view what, const std::string& path, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(error)));
}

std::string DayOf(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d", time, absl::UTCTimeZone());
}

std::string DayIn(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename();
  absl::string_view name = file;
  if (!absl::ConsumePrefix(&name, kPrefix) || !absl::ConsumeSuffix(&name, kSuffix)) return "";
  return std::string(name);
}

std::vector<std::string> DailyFiles(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (!DayIn(entry.path().string()).empty()) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());  // the days are in the names
  return paths;
}

absl::Status SyncDirectory(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Cannot("open", directory, errno);
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error == 0 ? absl::OkStatus() : Cannot("write", directory, error);
}

// Finds the last complete revision in `text`. Returns where it ends, and its last line without the
// line feed.
std::pair<size_t, std::string> LastComplete(absl::string_view text) {
  const size_t found = text.rfind(kLastOfRevision);
  if (found == absl::string_view::npos) return {0, ""};
  const size_t end = found + std::strlen(kLastOfRevision);
  const size_t before = text.substr(0, found).rfind('\n');
  const size_t begin = before == absl::string_view::npos ? 0 : before + 1;
  return {end, std::string(text.substr(begin, end - 1 - begin))};
}

// Cuts the file after its last complete revision. Returns that revision's last line; empty if the
// file has no complete revision. Reads only the end of the file, because a day may have gigabytes.
absl::StatusOr<std::string> CutFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return Cannot("open", path, errno);
  const absl::Cleanup closing = [fd] { close(fd); };
  struct stat facts = {};
  if (fstat(fd, &facts) != 0) return Cannot("read", path, errno);
  const auto size = static_cast<size_t>(facts.st_size);
  if (size == 0) return std::string();
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED) return Cannot("read", path, errno);
  const auto [end, line] = LastComplete({static_cast<const char*>(mapped), size});
  munmap(mapped, size);
  if (end < size && (ftruncate(fd, static_cast<off_t>(end)) != 0 || fsync(fd) != 0)) {
    return Cannot("cut", path, errno);
  }
  return line;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> AuditFilesIn(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    if (std::filesystem::exists(path, error)) return std::vector<std::string>{path};
    return absl::NotFoundError(absl::StrCat("there is no file or directory ", path));
  }
  std::vector<std::string> paths = DailyFiles(path);
  if (paths.empty()) return absl::NotFoundError(absl::StrCat("there is no audit file in ", path));
  return paths;
}

absl::Time EndOfAuditFile(const std::string& path) {
  absl::Time day;
  if (!absl::ParseTime("%Y-%m-%d", DayIn(path), &day, nullptr)) return absl::InfiniteFuture();
  return day + absl::Hours(24);
}

absl::StatusOr<std::unique_ptr<AuditFiles>> AuditFiles::Open(const std::string& directory) {
  if (mkdir(directory.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
    return Cannot("make", directory, errno);
  }
  std::unique_ptr<AuditFiles> files(new AuditFiles(directory));
  BERTH_RETURN_IF_ERROR(files->Hold());
  BERTH_RETURN_IF_ERROR(files->CutBack());
  return files;
}

AuditFiles::~AuditFiles() {
  if (file_ >= 0) close(file_);
  if (hold_ >= 0) close(hold_);
}

absl::Status AuditFiles::Hold() {
  const std::string path = directory_ + "/.lock";
  hold_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode);
  if (hold_ < 0) return Cannot("open", path, errno);
  if (flock(hold_, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("another `berth audit follow` writes to ", directory_));
}

absl::Status AuditFiles::CutBack() {
  if (file_ >= 0) close(file_);
  file_ = -1;
  day_.clear();
  position_.reset();
  std::vector<std::string> paths = DailyFiles(directory_);
  if (!paths.empty()) day_ = DayIn(paths.back());
  for (; !paths.empty() && !position_; paths.pop_back()) {
    BERTH_ASSIGN_OR_RETURN(const std::string line, CutFile(paths.back()));
    if (line.empty()) continue;  // a crash came before the first complete revision of this day
    const auto entry = ReadAuditLine(line);
    if (!entry.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the last complete line of ", paths.back(),
                       " cannot be read: move the file away or repair it"));
    }
    position_ = entry->revision;
    time_ = entry->time;
  }
  unsynced_ = false;
  return absl::OkStatus();
}

absl::Status AuditFiles::UseDay(const std::string& day) {
  if (file_ >= 0 && day <= day_) return absl::OkStatus();
  if (file_ >= 0) {
    BERTH_RETURN_IF_ERROR(Sync());
    close(file_);
    file_ = -1;
  }
  day_ = std::max(day_, day);
  const std::string path = absl::StrCat(directory_, "/", kPrefix, day_, kSuffix);
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kFileMode);
  if (file_ < 0) return Cannot("open", path, errno);
  return SyncDirectory(directory_);
}

absl::Status AuditFiles::Append(absl::string_view lines, const placement::v1::Revision& revision,
                                absl::Time time, bool complete) {
  BERTH_RETURN_IF_ERROR(UseDay(DayOf(time)));
  unsynced_ = true;
  while (!lines.empty()) {
    const ssize_t written = write(file_, lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Cannot("write to", directory_, errno);
    lines.remove_prefix(static_cast<size_t>(written));
  }
  if (complete) {
    position_ = revision;
    time_ = time;
  }
  return absl::OkStatus();
}

absl::Status AuditFiles::Sync() {
  if (!unsynced_ || file_ < 0) return absl::OkStatus();
  if (fdatasync(file_) != 0) return Cannot("write to", directory_, errno);
  unsynced_ = false;
  return absl::OkStatus();
}

}  // namespace berth::cli
