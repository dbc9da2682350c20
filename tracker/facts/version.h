// Versions of libvirt and of hypervisors, as numbers in libvirt's encoding (T-89).
//
// Pure functions.
#ifndef BERTH_TRACKER_FACTS_VERSION_H_
#define BERTH_TRACKER_FACTS_VERSION_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace berth::tracker {

constexpr int64_t EncodeVersion(int64_t major, int64_t minor, int64_t release) {
  return major * 1000000 + minor * 1000 + release;
}

// Returns for example `2.11.1` for 2011001.
inline std::string VersionText(int64_t version) {
  return absl::StrCat(version / 1000000, ".", version / 1000 % 1000, ".", version % 1000);
}

// The oldest versions that the tracker works with, on connections of type QEMU (T-32).
inline constexpr int64_t kLibvirtRequired = EncodeVersion(8, 0, 0);
inline constexpr int64_t kQemuRequired = EncodeVersion(6, 2, 0);
// The tracker logs a warning if libvirt or QEMU is older than these versions.
inline constexpr int64_t kLibvirtAdvised = EncodeVersion(10, 0, 0);
inline constexpr int64_t kQemuAdvised = EncodeVersion(8, 2, 2);

// Checks the versions on a connection of type QEMU. FailedPrecondition, which names the found and
// the required versions, if one of the versions is too old.
inline absl::Status CheckVersions(int64_t libvirt, int64_t qemu) {
  if (libvirt >= kLibvirtRequired && qemu >= kQemuRequired) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "libvirt ", VersionText(libvirt), " with QEMU ", VersionText(qemu), " is too old: libvirt ",
      VersionText(kLibvirtRequired), " and QEMU ", VersionText(kQemuRequired), " are required"));
}

// Checks the versions on a connection of type QEMU. Returns a warning if a later release of the
// tracker will not work with these versions, else an empty text.
inline std::string VersionAdvice(int64_t libvirt, int64_t qemu) {
  if (libvirt >= kLibvirtAdvised && qemu >= kQemuAdvised) return "";
  return absl::StrCat("libvirt ", VersionText(libvirt), " with QEMU ", VersionText(qemu),
                      ": a later release will require libvirt ", VersionText(kLibvirtAdvised),
                      " and QEMU ", VersionText(kQemuAdvised));
}

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_VERSION_H_
