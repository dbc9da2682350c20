// Properties of PCI devices: what a pool's devices have in common and what a request asks for.
//
// Plain values and pure functions.
#ifndef BERTH_TRACKER_DEVICES_PROPERTIES_H_
#define BERTH_TRACKER_DEVICES_PROPERTIES_H_

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace berth::tracker {

using PropertyValue = std::variant<std::string, std::vector<std::string>>;

// Values by key, for example vendor_id, product_id, dev_type, physical_network. The values of
// dev_type are those of PciDevice: type-PCI, type-PF, type-VF, vdpa.
using DeviceProperties = std::map<std::string, PropertyValue>;

// Returns the value of `key`, or an empty text if the value is absent or is a list.
absl::string_view TextOf(const DeviceProperties& properties, absl::string_view key);

// Reads 1, t, true, on, y, yes as true and 0, f, false, off, n, no as false, without regard to case
// and to blanks around. Returns nothing for any other text.
std::optional<bool> BooleanOf(absl::string_view text);

// Whether `offered` has every property of `wanted` (T-245). Texts are compared without regard to
// case. A wanted list fits if the offered list has all its items. The keys resource_class, traits
// and rp_uuids are not compared, because placement has decided about them.
bool HasProperties(const DeviceProperties& offered, const DeviceProperties& wanted);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_DEVICES_PROPERTIES_H_
