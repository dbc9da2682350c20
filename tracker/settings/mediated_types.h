// MediatedType: which virtual GPUs guests may get. A physical GPU offers virtual GPUs as mediated
// devices of one or several types.
//
// Plain values and a pure function.
#ifndef BERTH_TRACKER_SETTINGS_MEDIATED_TYPES_H_
#define BERTH_TRACKER_SETTINGS_MEDIATED_TYPES_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace berth::tracker {

struct MediatedType {
  std::string type;  // as libvirt names it, for example nvidia-35
  // The physical devices, for example 0000:84:00.0, from which guests get this type. Empty: every
  // device that no other type names.
  std::set<std::string> addresses;
  std::string resource_class = "VGPU";
  std::optional<int64_t> max_instances;  // how many guests may have at most from one device

  friend bool operator==(const MediatedType&, const MediatedType&) = default;
};

// Reads one JSON object per text, for example {"type": "nvidia-35", "addresses": ["0000:84:00.0"],
// "resource_class": "CUSTOM_BIG_GPU", "max_instances": 4}. Only `type` is required.
//
// InvalidArgument if a text has another form, if two texts have the same type, or if a device would
// be configured for two types (T-207). The message has the position of the text.
absl::StatusOr<std::vector<MediatedType>> ParseMediatedTypes(const std::vector<std::string>& texts);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_MEDIATED_TYPES_H_
