// The limits of a claim, a node's settings for claims, and the named units that a claim asks for.
//
// Plain values, and a pure function.
#ifndef BERTH_TRACKER_CLAIMS_TERMS_H_
#define BERTH_TRACKER_CLAIMS_TERMS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tracker/cells/fit.h"
#include "tracker/devices/request.h"
#include "tracker/ground/uuid.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

// How much of the node may be used after a claim. An absent limit is no limit (T-161).
struct ClaimLimits {
  std::optional<int64_t> memory_mib;
  std::optional<int64_t> disk_gib;
  std::optional<int64_t> vcpus;
  std::optional<CellLimits> cells;
};

// What the settings of the node say about claims.
struct ClaimSettings {
  bool enabled = true;           // false: the node takes no claims (T-52)
  DeviceAliases device_aliases;  // the names by which flavors ask for devices
  bool pack_cells = false;       // true: guests are packed on few cells
  // Limits of cells for claims that give none. Absent: no ratios are configured, and such claims
  // are not limited (T-164).
  std::optional<CellLimits> default_cell_limits;
};

// Reads the settings.
//
// InvalidArgument if an alias is malformed: see ParseDeviceAliases.
absl::StatusOr<ClaimSettings> ClaimSettingsOf(const NodeConfiguration& configuration);

// How many units of a class of one provider placement has allocated to the instance. The units may
// have names (T-149), or be PCI devices.
struct UnitAmount {
  Uuid provider_uuid;
  std::string resource_class;
  int64_t amount = 0;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CLAIMS_TERMS_H_
