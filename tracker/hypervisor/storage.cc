#include "tracker/hypervisor/storage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tracker/ground/status_macros.h"
#include "tracker/hypervisor/command.h"

namespace berth::tracker {
namespace {

constexpr int kVolumeGroupAttempts = 3;
// The part of the time that the question for the id may take, so that the usage is not lost if Ceph
// answers only one of the two questions.
constexpr double kCephIdShare = 1.0 / 12;
constexpr size_t kHeaderBytes = 32;

absl::Status FileError(const std::string& path, int error) {
  const std::string text = absl::StrCat(path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR || error == ESTALE) return absl::NotFoundError(text);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(text);
  return absl::InternalError(text);
}

bool SameFile(const ImageReading& a, const ImageReading& b) {
  return a.file_system == b.file_system && a.inode == b.inode &&
         a.modified_nanoseconds == b.modified_nanoseconds && a.size_bytes == b.size_bytes &&
         a.allocated_bytes == b.allocated_bytes;
}

std::string RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

// The kernel's own count of the device's sectors, which needs no permission and never hangs.
absl::StatusOr<int64_t> BlockDeviceBytes(dev_t device) {
  const std::string path =
      absl::StrCat("/sys/dev/block/", major(device), ":", minor(device), "/size");
  int64_t sectors = 0;
  if (!(std::ifstream(path) >> sectors)) return absl::NotFoundError(path + ": cannot be read");
  return 512 * sectors;
}

// Returns the space that the files below `directory` use on the disk, or nothing if they cannot be
// read. A directory that does not exist has no files.
std::optional<int64_t> AllocatedBytes(const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::exists(directory, error) && !error) return 0;
  int64_t bytes = 0;
  std::filesystem::recursive_directory_iterator at(directory, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    struct stat status = {};
    // A file may be removed while the others are read.
    if (lstat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    bytes += int64_t{512} * status.st_blocks;
  }
  if (error) return std::nullopt;
  return bytes;
}

}  // namespace

absl::StatusOr<StorageReading> ReadFileSystem(const std::string& path) {
  std::filesystem::path existing = path.empty() ? "/" : path;
  struct statvfs stats = {};
  while (statvfs(existing.c_str(), &stats) != 0) {
    if (errno != ENOENT || existing == existing.parent_path()) return FileError(path, errno);
    existing = existing.parent_path();
  }
  const auto unit = static_cast<int64_t>(stats.f_frsize);
  StorageReading reading;
  reading.total_bytes = unit * static_cast<int64_t>(stats.f_blocks);
  reading.free_bytes = unit * static_cast<int64_t>(stats.f_bavail);  // without root's reserve
  reading.used_bytes = unit * static_cast<int64_t>(stats.f_blocks - stats.f_bfree);
  return reading;
}

absl::StatusOr<StorageReading> ReadStorage(const NodeConfiguration& configuration,
                                           const std::string& instances_path,
                                           const std::string& cluster_id, absl::Duration timeout) {
  if (configuration.disk_backend == DiskBackend::kFile) {
    BERTH_ASSIGN_OR_RETURN(StorageReading reading, ReadFileSystem(instances_path));
    if (!configuration.image_cache_path.empty()) {
      reading.image_cache_bytes = AllocatedBytes(configuration.image_cache_path);
    }
    return reading;
  }
  if (configuration.disk_backend == DiskBackend::kRbd) {
    const absl::Duration for_id = timeout * kCephIdShare;
    BERTH_ASSIGN_OR_RETURN(const std::string output,
                           RunCommand({"ceph", "df", "--format=json"}, timeout - for_id));
    BERTH_ASSIGN_OR_RETURN(StorageReading reading, ParseCephUsage(output, configuration.rbd_pool,
                                                                  configuration.rbd_report_usable));
    reading.cluster_id = cluster_id;
    if (cluster_id.empty()) {
      const absl::StatusOr<std::string> id = RunCommand({"ceph", "fsid"}, for_id);
      if (id.ok()) reading.cluster_id = std::string(absl::StripAsciiWhitespace(*id));
    }
    return reading;
  }
  absl::Status failure;
  for (int attempt = 0; attempt < kVolumeGroupAttempts; ++attempt) {
    const absl::StatusOr<std::string> output =
        RunCommand({"vgs", "--noheadings", "--nosuffix", "--units", "b", "--separator", "|", "-o",
                    "vg_size,vg_free", configuration.volume_group},
                   timeout / kVolumeGroupAttempts);
    if (output.ok()) return ParseVolumeGroup(*output);
    failure = output.status();
  }
  return failure;
}

absl::StatusOr<ImageReading> ReadImage(const std::string& path,
                                       const std::optional<ImageReading>& last) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return FileError(path, errno);
  ImageReading image;
  image.size_bytes = status.st_size;
  if (S_ISBLK(status.st_mode)) {
    BERTH_ASSIGN_OR_RETURN(image.size_bytes, BlockDeviceBytes(status.st_rdev));
  }
  image.allocated_bytes = int64_t{512} * status.st_blocks;
  image.file_system = status.st_dev;
  image.inode = status.st_ino;
  image.modified_nanoseconds =
      int64_t{1'000'000'000} * status.st_mtim.tv_sec + status.st_mtim.tv_nsec;
  if (last && SameFile(*last, image)) return *last;
  image.real_path = RealPath(path);
  if (!S_ISREG(status.st_mode)) return image;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return FileError(path, errno);
  char header[kHeaderBytes];
  const ssize_t size = pread(file, header, sizeof header, 0);
  close(file);
  if (size > 0) {
    image.virtual_bytes = Qcow2VirtualBytes(absl::string_view(header, static_cast<size_t>(size)));
  }
  return image;
}

}  // namespace berth::tracker
