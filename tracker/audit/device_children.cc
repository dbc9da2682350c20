#include "tracker/audit/device_children.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tracker/audit/placed_children.h"
#include "tracker/audit/standard_data.h"
#include "tracker/devices/device_providers.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

// The providers of PCI devices that placement has, by address.
std::map<std::string, const KnownProvider*> FindPlaced(absl::string_view node_name,
                                                       const Records* records) {
  std::map<std::string, const KnownProvider*> placed;
  if (records == nullptr) return placed;
  const std::string prefix = absl::StrCat(node_name, "_");
  for (const KnownProvider& known : records->tree) {
    if (known.traits.count(kManagedDeviceTrait) == 0 || IsNil(known.parent_uuid)) continue;
    if (!absl::StartsWith(known.name, prefix)) continue;
    placed[absl::AsciiStrToLower(known.name.substr(prefix.size()))] = &known;
  }
  return placed;
}

PlacedDeviceProviders SumUp(const std::map<std::string, const KnownProvider*>& placed,
                            const Records* records) {
  PlacedDeviceProviders sums;
  for (const auto& [address, known] : placed) {
    PlacedDeviceProvider& sum = sums[address];
    for (const auto& [name, inventory] : known->inventories) sum.reserved += inventory.reserved;
    for (const auto& [name, amount] : UsedOf(*known, *records)) sum.used += amount;
  }
  return sums;
}

StandardNames Standard() {
  return {[](absl::string_view name) { return absl::c_linear_search(StandardClasses(), name); },
          IsStandardTrait};
}

WantedProvider AsWanted(const DeviceProvider& provider, const Uuid& node_uuid, const Uuid& uuid) {
  WantedProvider child{uuid, provider.name, node_uuid, {}, {}};
  child.inventories[provider.resource_class] = {
      provider.total, provider.reserved, 1, provider.total, 1, 1.0};
  for (const std::string& trait : provider.traits) {
    if (absl::StartsWith(trait, "CUSTOM_") || IsStandardTrait(trait)) child.traits[trait] = true;
  }
  return child;
}

// Lets the child have what consumers hold of other classes than the one that its devices have now.
// These devices are not offered as the new class before they are free (T-239).
void KeepOldClasses(const KnownProvider& known, const Records& records,
                    const std::string& resource_class, WantedProvider* child,
                    std::vector<std::string>* problems) {
  WantedProvider used = AsUsed(known, records);
  used.inventories.erase(resource_class);
  if (used.inventories.empty()) return;
  Inventory& offered = child->inventories[resource_class];
  for (const auto& [name, held] : used.inventories) {
    offered.total -= held.total;
    problems->push_back(absl::StrCat("provider ", child->name, ": consumers hold ", held.total,
                                     " devices as ", name, ", their class before; they become ",
                                     resource_class, " when they are free"));
  }
  // What is reserved is divided, first to the devices that are free, so that its sum stays.
  int64_t reserved = offered.reserved;
  const auto reserve = [&reserved](Inventory* part) {
    part->max_unit = part->total;
    part->reserved = std::min(reserved, part->total);
    reserved -= part->reserved;
  };
  offered.total = std::max<int64_t>(offered.total, 0);
  reserve(&offered);
  if (offered.total == 0) child->inventories.erase(resource_class);  // `offered` is gone
  for (auto& [name, held] : used.inventories) {
    reserve(&held);
    child->inventories[name] = held;
  }
}

}  // namespace

DeviceChildren DescribeDeviceChildren(const NodeConfiguration& configuration, const Uuid& node_uuid,
                                      absl::string_view node_name, const NodeAccount& account,
                                      bool devices_known, const Records* records) {
  const std::map<std::string, const KnownProvider*> placed = FindPlaced(node_name, records);
  const bool wanted = configuration.pci_report_in_placement;
  absl::StatusOr<DeviceProviderTree> tree = DeviceProviderTree();
  if (absl::Status lawful = CheckDeviceReporting(wanted, !placed.empty()); !lawful.ok()) {
    tree = std::move(lawful);
  } else if (wanted && !devices_known) {
    tree = absl::UnavailableError("the PCI devices could not be listed: their providers stay");
  } else if (wanted) {
    tree =
        DescribeDeviceProviders(node_name, account.Devices(), SumUp(placed, records), Standard());
  }
  DeviceChildren result;
  ChildProviders& children = result.children;
  if (!tree.ok()) {
    children.problems.emplace_back(tree.status().message());
    for (const auto& [address, known] : placed) children.providers.push_back(AsPlaced(*known));
    return result;
  }
  for (const DeviceProvider& provider : tree->providers) {
    const auto known = placed.find(provider.address);
    const bool is_placed = known != placed.end();
    WantedProvider child = AsWanted(
        provider, node_uuid, is_placed ? known->second->uuid : NamedUuid(node_uuid, provider.name));
    if (is_placed) {
      KeepOldClasses(*known->second, *records, provider.resource_class, &child, &children.problems);
    }
    children.providers.push_back(std::move(child));
  }
  for (const std::string& address : tree->removed) {
    WantedProvider child = AsUsed(*placed.at(address), *records);
    if (!child.inventories.empty()) children.providers.push_back(std::move(child));
  }
  children.problems.insert(children.problems.end(), tree->problems.begin(), tree->problems.end());
  result.tree = *std::move(tree);
  return result;
}

std::map<std::string, Uuid> DeviceProvidersOf(absl::string_view node_name, const Records& records) {
  std::map<std::string, Uuid> uuids;
  for (const auto& [address, known] : FindPlaced(node_name, &records)) uuids[address] = known->uuid;
  return uuids;
}

}  // namespace berth::tracker
