#include "tracker/facts/mounts.h"

#include <algorithm>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace berth::tracker {
namespace {

constexpr size_t kStorageIdMax = 255;

// Undoes the kernel's escapes: a backslash and three octal digits for one character.
std::string Unescape(absl::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const absl::string_view digits = text.substr(i + 1 < text.size() ? i + 1 : text.size(), 3);
    const bool escape = text[i] == '\\' && digits.size() == 3 &&
                        std::all_of(digits.begin(), digits.end(),
                                    [](char digit) { return digit >= '0' && digit <= '7'; });
    if (escape) {
      plain.push_back(
          static_cast<char>((digits[0] - '0') << 6 | (digits[1] - '0') << 3 | (digits[2] - '0')));
      i += 3;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

bool IsBelow(absl::string_view path, absl::string_view directory) {
  if (directory == "/") return absl::StartsWith(path, "/");
  return path == directory || (absl::ConsumePrefix(&path, directory) && path[0] == '/');
}

}  // namespace

std::vector<Mount> ParseMounts(absl::string_view mountinfo) {
  std::vector<Mount> mounts;
  for (const absl::string_view line : absl::StrSplit(mountinfo, '\n', absl::SkipEmpty())) {
    // 36 35 98:0 /subdirectory /mount/point options tag... - type source options
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 3) continue;
    mounts.push_back({Unescape(fields[4]), std::string(dash[1]), Unescape(dash[2])});
  }
  return mounts;
}

const Mount* FindMount(const std::vector<Mount>& mounts, absl::string_view path) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
    if (!IsBelow(path, mount.point)) continue;
    if (best == nullptr || mount.point.size() >= best->point.size()) best = &mount;
  }
  return best;
}

std::string ServerOf(const Mount& mount) {
  // //nas/share, or nas:/export
  const bool slashes = absl::StartsWith(mount.source, "//");
  const size_t end = slashes ? mount.source.find('/', 2) : mount.source.rfind(":/");
  return slashes || end != std::string::npos ? mount.source.substr(0, end) : mount.point;
}

std::string SharedStorageId(const Mount& mount) {
  // The source of these types is a name that means the same on every host. Each version
  // of a protocol has a type of its own, but hosts may mount one server by several versions.
  static const auto* const kProtocols =
      new std::map<std::string, std::string>{{"nfs", "nfs"},
                                             {"nfs4", "nfs"},
                                             {"ceph", "ceph"},
                                             {"fuse.ceph", "ceph"},
                                             {"cifs", "smb"},
                                             {"smb3", "smb"},
                                             {"glusterfs", "glusterfs"},
                                             {"lustre", "lustre"},
                                             {"fuse.glusterfs", "glusterfs"}};
  const auto found = kProtocols->find(mount.type);
  if (found == kProtocols->end()) return "";
  // The kernel does not say in which encoding the source is. Messages carry only UTF-8.
  std::string id = absl::StrCat(found->second, ":", absl::CEscape(mount.source));
  return id.size() > kStorageIdMax ? "" : id;
}

std::string PoolStorageId(absl::string_view cluster_id, absl::string_view pool) {
  std::string id = absl::StrCat("rbd:", cluster_id, "/", pool);
  return id.size() > kStorageIdMax ? "" : id;
}

}  // namespace berth::tracker
