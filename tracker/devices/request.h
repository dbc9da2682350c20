// DeviceRequest: the PCI devices that an instance asks for. DeviceAlias: a name by which flavors
// ask for devices.
//
// Plain values and pure functions.
#ifndef BERTH_TRACKER_DEVICES_REQUEST_H_
#define BERTH_TRACKER_DEVICES_REQUEST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tracker/devices/properties.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// How near devices must be to the NUMA cells of the guest (T-248).
enum class DeviceNumaPolicy {
  kRequired,   // on a cell of the guest
  kPreferred,  // anywhere; near devices are used first
  kLegacy,     // on a cell of the guest, or without NUMA information
  kSocket,     // on a cell with the same socket as a cell of the guest
};

// Reads `required`, `preferred`, `legacy` or `socket`. InvalidArgument for any other text.
absl::StatusOr<DeviceNumaPolicy> ParseDeviceNumaPolicy(absl::string_view text);
absl::string_view DeviceNumaPolicyName(DeviceNumaPolicy policy);

enum class DeviceRequestSource { kFlavorAlias, kNeutronPort };

// The largest number of devices of one request, and of requests of one instance. Placement refuses
// requests for more devices.
inline constexpr int64_t kRequestedDevicesMax = 256;
inline constexpr int kDeviceRequestsMax = 256;

// Numbers of devices by the uuid of their provider in placement.
using ProviderAmounts = std::map<Uuid, int64_t>;

// Asks for `count` devices, 1 to kRequestedDevicesMax. A device fits if it has all properties of
// one alternative (T-244).
struct DeviceRequest {
  std::string request_id;
  int64_t count = 1;
  std::string alias_name;  // empty: the request does not come from an alias
  DeviceRequestSource source = DeviceRequestSource::kFlavorAlias;
  std::vector<DeviceProperties> alternatives;
  DeviceNumaPolicy numa_policy = DeviceNumaPolicy::kLegacy;
  std::string requester_id;
  // How many of the devices placement allocated from each provider. Absent: nobody says from which
  // providers they come, so they may come from any pool (T-246).
  std::optional<ProviderAmounts> providers;
};

// One alias: a name for kinds of devices.
struct DeviceAlias {
  DeviceNumaPolicy numa_policy = DeviceNumaPolicy::kLegacy;
  std::vector<DeviceProperties> alternatives;  // one per definition of the name
};
using DeviceAliases = std::map<std::string, DeviceAlias>;

// Reads the values of the option `alias`, each a JSON object (T-244).
//
// InvalidArgument, which names the option and the key, for the first value that is wrong: text that
// is not JSON (with the position of the error) or no object; an unknown key; a name that is absent,
// empty or longer than 256 bytes; an id that is not four hexadecimal digits; an unknown device_type
// or numa_policy; a definition that contradicts an earlier one of the same name in numa_policy or
// device_type. In the properties, device_type is called dev_type.
absl::StatusOr<DeviceAliases> ParseDeviceAliases(const std::vector<std::string>& options);

// Reads the flavor's text `pci_passthrough:alias`, for example `gpu:2,nic:1`: one request per item.
// `policy` overrides the policies of the aliases. The requests have no request_id.
//
// InvalidArgument if an item has no count, or its count is not a number from 1 to
// kRequestedDevicesMax, or there are more than kDeviceRequestsMax items; NotFound if an alias is
// not configured. The first wrong item counts.
absl::StatusOr<std::vector<DeviceRequest>> RequestsOfFlavor(absl::string_view text,
                                                            const DeviceAliases& aliases,
                                                            std::optional<DeviceNumaPolicy> policy);

// Combines the affinity policies that a flavor and an image ask for (T-244). An empty text means
// none.
//
// InvalidArgument if a policy is unknown, or if both ask for different policies.
absl::StatusOr<std::optional<DeviceNumaPolicy>> CombineDevicePolicies(absl::string_view flavor,
                                                                      absl::string_view image);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_DEVICES_REQUEST_H_
