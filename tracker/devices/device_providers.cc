#include "tracker/devices/device_providers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace berth::tracker {
namespace {

// Returns the name in upper case, with `_` in the place of other characters, and with the prefix
// CUSTOM_ unless it has the prefix or is a standard name.
std::string NormalName(absl::string_view name,
                       const std::function<bool(absl::string_view)>& is_standard) {
  std::string normal = absl::AsciiStrToUpper(absl::StripAsciiWhitespace(name));
  for (char& letter : normal) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(letter))) letter = '_';
  }
  if (is_standard(normal) || absl::StartsWith(normal, "CUSTOM_")) return normal;
  return absl::StrCat("CUSTOM_", normal);
}

std::string ClassOf(const PciDevice& device, const DeviceSpec& spec,
                    const StandardNames& standard) {
  const absl::string_view tag = TextOf(spec.tags, "resource_class");
  if (!tag.empty()) return NormalName(tag, standard.is_class);
  return absl::AsciiStrToUpper(
      absl::StrCat("CUSTOM_PCI_", device.vendor_id, "_", device.product_id));
}

std::set<std::string> TraitsOf(const DeviceSpec& spec, const StandardNames& standard) {
  std::set<std::string> traits = {kManagedDeviceTrait, "OWNER_NOVA"};
  for (const absl::string_view name :
       absl::StrSplit(TextOf(spec.tags, "traits"), ',', absl::SkipWhitespace())) {
    traits.insert(NormalName(name, standard.is_trait));
  }
  if (spec.Says("live_migratable")) traits.insert("HW_PCI_LIVE_MIGRATABLE");
  if (spec.one_time_use()) traits.insert("HW_PCI_ONE_TIME_USE");
  return traits;
}

// The address of the provider that counts `device`: for a VF, the address of its PF.
std::string ProviderAddress(const PciDevice& device) {
  const bool virtual_function = device.dev_type == "type-VF" || device.dev_type == "vdpa";
  return virtual_function && device.parent_address ? *device.parent_address : device.address;
}

// Adds a device to its provider. FailedPrecondition if it contradicts the provider's other devices.
absl::Status AddDevice(const DeviceRecord& record, const DeviceSpec& spec,
                       const StandardNames& standard, DeviceProvider* to) {
  const PciDevice& device = record.device;
  const std::string resource_class = ClassOf(device, spec, standard);
  std::set<std::string> traits = TraitsOf(spec, standard);
  if (!to->devices.empty()) {
    if (to->devices.front() == to->address || device.address == to->address) {
      return absl::FailedPreconditionError(absl::StrCat(
          spec.where, ": the PCI device ", to->address,
          " and its virtual functions both match device_spec: only one of the two may match"));
    }
    if (to->resource_class != resource_class || to->traits != traits) {
      return absl::FailedPreconditionError(absl::StrCat(
          spec.where, ": the virtual functions ", to->devices.front(), " and ", device.address,
          " belong to one device, so they must have the same resource_class and the same traits"));
    }
  }
  to->resource_class = resource_class;
  to->traits = std::move(traits);
  to->devices.push_back(device.address);
  ++to->total;
  if (spec.one_time_use() && record.status == DeviceStatus::kAllocated) to->reserved = to->total;
  return absl::OkStatus();
}

// Adjusts the provider's total and reserved amount to what placement has allocated and reserved.
void FollowPlacement(bool reserve_all, const PlacedDeviceProvider& placed, DeviceProvider* to) {
  to->total = std::max(to->total, placed.used);
  to->reserved = reserve_all ? to->total : std::min(placed.reserved, to->total);
}

}  // namespace

absl::StatusOr<DeviceProviderTree> DescribeDeviceProviders(absl::string_view node_name,
                                                           const DeviceTable& table,
                                                           const PlacedDeviceProviders& placed,
                                                           const StandardNames& standard) {
  for (const DeviceSpec& spec : table.specs().specs()) {
    if (!spec.interface_name) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        spec.where, ".devname: use address instead, because devices are reported to placement"));
  }
  std::map<std::string, DeviceProvider> providers;
  for (const DeviceRecord& record : table.Records()) {
    // Of an owned device that the host does not list only the address is known, and not the class.
    if (record.device.dev_type.empty()) continue;
    const DeviceSpec* const spec = table.specs().Find(record.device, {});
    if (spec == nullptr || spec->tags.count("physical_network") != 0) continue;
    const std::string address = ProviderAddress(record.device);
    DeviceProvider& provider = providers[address];
    provider.address = address;
    provider.name = absl::StrCat(node_name, "_", absl::AsciiStrToUpper(address));
    absl::Status added = AddDevice(record, *spec, standard, &provider);
    if (!added.ok()) return added;
  }
  DeviceProviderTree tree;
  for (auto& [address, provider] : providers) {
    const auto known = placed.find(address);
    FollowPlacement(provider.reserved > 0,
                    known == placed.end() ? PlacedDeviceProvider() : known->second, &provider);
    tree.providers.push_back(std::move(provider));
  }
  for (const auto& [address, known] : placed) {
    if (providers.count(address) != 0) continue;
    tree.removed.push_back(address);
    if (known.used == 0) continue;
    tree.problems.push_back(absl::StrCat("INVENTORY_IN_USE: placement has ", known.used,
                                         " allocated of the PCI device ", address,
                                         ", which the host no longer has"));
  }
  return tree;
}

absl::Status CheckDeviceReporting(bool report_in_placement, bool has_managed_providers) {
  if (report_in_placement || !has_managed_providers) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "report_in_placement cannot be switched off while placement has providers of PCI devices");
}

std::vector<DeviceAllocation> MissingDeviceAllocations(
    const DeviceProviderTree& tree, const DeviceTable& table,
    const std::map<Uuid, std::map<std::string, int64_t>>& allocated,
    const std::set<Uuid>& resizing) {
  std::map<std::pair<Uuid, std::string>, int64_t> needed;
  for (const DeviceProvider& provider : tree.providers) {
    if (provider.reserved == provider.total) continue;
    for (const std::string& address : provider.devices) {
      const Uuid& owner = table.Find(address)->instance_uuid;
      if (!IsNil(owner)) ++needed[{owner, provider.address}];
    }
  }
  std::vector<DeviceAllocation> missing;
  for (const auto& [key, amount] : needed) {
    const auto& [consumer, address] = key;
    const auto known = allocated.find(consumer);
    if (known == allocated.end() || resizing.count(consumer) != 0) continue;
    const auto has = known->second.find(address);
    if (has != known->second.end() && has->second >= amount) continue;
    missing.push_back({consumer, address, amount});
  }
  return missing;
}

}  // namespace berth::tracker
