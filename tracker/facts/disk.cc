#include "tracker/facts/disk.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace berth::tracker {
namespace {

constexpr int64_t kBytesPerGib = int64_t{1} << 30;

}  // namespace

int64_t OvercommittedBytes(const GuestDisk& disk, const std::optional<ImageReading>& image,
                           const std::set<std::string>& volumes) {
  if (disk.path.empty() || disk.type != "file") return 0;
  if (volumes.count(disk.target) != 0 || !image) return 0;
  const bool has_header = disk.format == "qcow2" && image->virtual_bytes.has_value();
  const int64_t promised = has_header ? *image->virtual_bytes : image->size_bytes;
  return std::max<int64_t>(0, promised - image->allocated_bytes);
}

bool IsLocalDisk(const GuestDisk& disk) {
  const bool removable = disk.device == "cdrom" || disk.device == "floppy";
  return !disk.path.empty() && !removable && (disk.type == "file" || disk.type == "block");
}

bool ImageTellsSize(const GuestDisk& disk) {
  return disk.format.empty() || disk.format == "raw" ||
         (disk.format == "qcow2" && disk.type == "file");
}

int64_t LocalDiskBytes(const GuestDisk& disk, const std::optional<ImageReading>& image,
                       const std::optional<int64_t>& capacity_bytes) {
  if (!IsLocalDisk(disk)) return 0;
  if (!image) return capacity_bytes.value_or(0);
  if (!ImageTellsSize(disk)) return capacity_bytes.value_or(image->size_bytes);
  return disk.format == "qcow2" ? image->virtual_bytes.value_or(image->size_bytes)
                                : image->size_bytes;
}

int64_t TruncatedGib(int64_t bytes) { return bytes / kBytesPerGib; }

int64_t SteadyGib(int64_t bytes, const std::optional<int64_t>& last) {
  constexpr int64_t kSlack = kBytesPerGib / 4;
  const bool stays =
      last && TruncatedGib(bytes - kSlack) <= *last && *last <= TruncatedGib(bytes + kSlack);
  return stays ? *last : TruncatedGib(bytes);
}

absl::StatusOr<StorageReading> ParseVolumeGroup(absl::string_view output) {
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::StripAsciiWhitespace(output), '|');
  StorageReading reading;
  if (fields.size() != 2 ||
      !absl::SimpleAtoi(absl::StripAsciiWhitespace(fields[0]), &reading.total_bytes) ||
      !absl::SimpleAtoi(absl::StripAsciiWhitespace(fields[1]), &reading.free_bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the output of vgs cannot be understood: '", output, "'"));
  }
  reading.used_bytes = reading.total_bytes - reading.free_bytes;
  return reading;
}

absl::StatusOr<StorageReading> ParseCephUsage(absl::string_view output, absl::string_view pool,
                                              bool usable) {
  const nlohmann::json usage = nlohmann::json::parse(output, nullptr, false);
  const nlohmann::json none;
  const auto field = [&none](const nlohmann::json& in, const char* name) -> const nlohmann::json& {
    return in.is_object() && in.contains(name) ? in.at(name) : none;
  };
  const nlohmann::json& total = field(field(usage, "stats"), "total_bytes");
  if (!total.is_number())
    return absl::InvalidArgumentError(
        "the output of ceph df cannot be understood: it has no 'stats'");
  for (const nlohmann::json& entry : field(usage, "pools")) {
    if (field(entry, "name") != nlohmann::json(std::string(pool))) continue;
    const nlohmann::json& stats = field(entry, "stats");
    if (!field(stats, "max_avail").is_number() || !field(stats, "bytes_used").is_number()) break;
    StorageReading reading{total.get<int64_t>(), stats["max_avail"].get<int64_t>(),
                           stats["bytes_used"].get<int64_t>(), ""};
    if (!usable) return reading;
    // Before Ceph 14 there is no `stored`, and `bytes_used` is without copies.
    if (field(stats, "stored").is_number()) reading.used_bytes = stats["stored"].get<int64_t>();
    reading.total_bytes = reading.used_bytes + reading.free_bytes;
    return reading;
  }
  return absl::NotFoundError(absl::StrCat("ceph has no pool ", pool, ", which the settings name"));
}

std::optional<int64_t> Qcow2VirtualBytes(absl::string_view header) {
  if (header.size() < 32 || header.substr(0, 4) != absl::string_view("QFI\xfb", 4)) {
    return std::nullopt;
  }
  uint64_t bytes = 0;  // big-endian at offset 24
  for (int i = 24; i < 32; ++i) bytes = bytes << 8 | static_cast<unsigned char>(header[i]);
  if (bytes > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

}  // namespace berth::tracker
