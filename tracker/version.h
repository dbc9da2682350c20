// Versions of libvirt and of hypervisors, in libvirt's encoding (T-89).
#ifndef BERTH_TRACKER_VERSION_H_
#define BERTH_TRACKER_VERSION_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace berth::tracker {

constexpr int64_t EncodeVersion(int64_t major, int64_t minor, int64_t release) {
  return major * 1000000 + minor * 1000 + release;
}

// `2.11.1` for 2011001.
inline std::string VersionText(int64_t version) {
  return absl::StrCat(version / 1000000, ".", version / 1000 % 1000, ".", version % 1000);
}

// Connections of type QEMU need at least these (T-32)...
inline constexpr int64_t kLibvirtRequired = EncodeVersion(8, 0, 0);
inline constexpr int64_t kQemuRequired = EncodeVersion(6, 2, 0);
// ... and are warned about below these.
inline constexpr int64_t kLibvirtAdvised = EncodeVersion(10, 0, 0);
inline constexpr int64_t kQemuAdvised = EncodeVersion(8, 2, 2);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_VERSION_H_
