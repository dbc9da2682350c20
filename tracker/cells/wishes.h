// GuestWishes: what a guest asks for, as the settings of its flavor and its image say.
//
// Plain values and pure functions. The settings of a flavor are its extra specs, for example
// hw:cpu_policy; those of an image are its properties, for example hw_cpu_policy.
#ifndef BERTH_TRACKER_CELLS_WISHES_H_
#define BERTH_TRACKER_CELLS_WISHES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tracker/settings/cpu_set.h"

namespace berth::tracker {

using SettingsByName = std::map<std::string, std::string>;

struct GuestWishes {
  int vcpus = 0;
  int64_t memory_mib = 0;
  SettingsByName flavor;  // the extra specs of the flavor
  SettingsByName image;   // the properties of the image
};

// Returns the setting; empty if it is absent. Most callers treat an empty setting as absent.
absl::string_view SettingOf(const SettingsByName& settings, absl::string_view name);

// Whether the text is a word for yes: 1, t, true, on, y or yes, in upper or lower case.
bool IsYes(absl::string_view text);

// Returns the CPUs that the setting lists, which may be none.
//
// Refuses with kUnparsable if `text` is no list of CPUs.
absl::StatusOr<CpuSet> ReadCpus(absl::string_view name, absl::string_view text);

// Returns the number that the setting gives.
//
// Refuses with kUnparsable if `text` is no whole number.
absl::StatusOr<int64_t> ReadNumber(absl::string_view name, absl::string_view text);

// Checks the words and numbers of the image that are independent of the flavor.
//
// kUnparsable if a policy is an unknown word, if the number of cells or the memory of a cell is no
// number, or if the CPUs of a cell are no list of CPUs.
absl::Status CheckImage(const SettingsByName& image);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CELLS_WISHES_H_
