// The providers by which placement knows PCI devices, if the operator lets the tracker report them.
//
// Plain values and pure functions. PF: a physical function. VF: a virtual function of a device.
#ifndef BERTH_TRACKER_DEVICES_DEVICE_PROVIDERS_H_
#define BERTH_TRACKER_DEVICES_DEVICE_PROVIDERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tracker/devices/device_table.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// The trait of every provider of PCI devices.
inline constexpr char kManagedDeviceTrait[] = "COMPUTE_MANAGED_PCI_DEVICE";

// A child of the node's root provider: one device, or the VFs of one PF (T-258). Its inventory has
// one class with min_unit and step_size 1, max_unit `total` and allocation ratio 1.
struct DeviceProvider {
  std::string address;  // of the device, or of the PF of the VFs
  std::string name;     // the node's name, `_`, and the address in upper case
  std::string resource_class;
  int64_t total = 0;
  int64_t reserved = 0;
  std::set<std::string> traits;
  std::vector<std::string> devices;  // addresses
};

// What placement has recorded about a provider of PCI devices.
struct PlacedDeviceProvider {
  int64_t used = 0;
  int64_t reserved = 0;
};
using PlacedDeviceProviders = std::map<std::string, PlacedDeviceProvider>;  // by address

// Which names of classes and traits are standard. All others get the prefix CUSTOM_.
struct StandardNames {
  std::function<bool(absl::string_view)> is_class;
  std::function<bool(absl::string_view)> is_trait;
};

struct DeviceProviderTree {
  std::vector<DeviceProvider> providers;  // sorted by address
  // The addresses of providers without devices. They offer nothing any more, and are deleted as soon
  // as nobody holds anything of them.
  std::vector<std::string> removed;
  // One text for each provider in `removed` on which consumers still hold allocations. Such a
  // provider cannot be removed yet (T-260).
  std::vector<std::string> problems;
};

// Describes the providers of the devices in `table` that have no physical_network (T-258). A device
// of which only the address is known (see DeviceTable::Rebuild) counts as gone.
//
// If placement has allocated more of a provider than the provider has devices, its total is the
// allocated amount (T-260). If a one_time_use device is allocated, all of its provider is reserved;
// the reserved amount is never lowered (T-261).
//
// FailedPrecondition, with the device or the specification in the message, if a specification has
// an interface, if a PF and one of its VFs would both be reported, or if VFs of one PF have
// different classes or traits (T-259).
absl::StatusOr<DeviceProviderTree> DescribeDeviceProviders(absl::string_view node_name,
                                                           const DeviceTable& table,
                                                           const PlacedDeviceProviders& placed,
                                                           const StandardNames& standard);

// Checks that reporting to placement is not switched off while placement has providers of PCI
// devices. FailedPrecondition otherwise (T-259).
absl::Status CheckDeviceReporting(bool report_in_placement, bool has_managed_providers);

// How much of a provider a consumer has or should have.
struct DeviceAllocation {
  Uuid consumer;
  std::string address;  // of the provider
  int64_t amount = 0;

  friend bool operator==(const DeviceAllocation&, const DeviceAllocation&) = default;
};

// Returns, for consumers that own devices, the allocations that they should have, if they have less
// (T-262). Leaves out consumers that are not in `allocated`, which placement does not have, and
// those in `resizing`, which move on this host. A consumer in `allocated` may have nothing. Leaves
// out providers of which everything is reserved: nothing of them can be allocated (T-261).
std::vector<DeviceAllocation> MissingDeviceAllocations(
    const DeviceProviderTree& tree, const DeviceTable& table,
    const std::map<Uuid, std::map<std::string, int64_t>>& allocated,
    const std::set<Uuid>& resizing);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_DEVICES_DEVICE_PROVIDERS_H_
