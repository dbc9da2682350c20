#include "tracker/audit/resources.h"

#include <optional>
#include <variant>
#include <vector>

#include "absl/strings/str_join.h"
#include "tracker/audit/reserve.h"
#include "tracker/facts/pmem.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {
namespace {

absl::StatusOr<DeviceSpecs> SpecsOf(const Facts& facts, const NodeConfiguration& configuration) {
  DeviceSpecLimits limits;
  limits.report_in_placement = configuration.pci_report_in_placement;
  limits.live_migration =
      OffersDeviceLiveMigration(facts.library_version, facts.hypervisor_version);
  return DeviceSpecs::Parse(configuration.pci_device_specs, limits);
}

std::string TextOfTag(const PropertyValue& value) {
  const auto* const list = std::get_if<std::vector<std::string>>(&value);
  return list != nullptr ? absl::StrJoin(*list, ",") : std::get<std::string>(value);
}

}  // namespace

NodeResources ResourcesOf(const Facts& facts, const NodeConfiguration& configuration) {
  NodeResources resources;
  resources.total = {facts.vcpus.value_or(0), facts.memory_mib.value_or(0),
                     facts.local_disk_gib.value_or(0) * kMibPerGib};
  resources.reserve = ReserveOf(facts, configuration).amounts;
  resources.overheads.isolated_emulator_vcpus = 1;  // libvirt gives the emulator a CPU (T-142)
  resources.topology = facts.numa_topology.value_or(std::nullopt);
  return resources;
}

void AddUnits(const Facts& facts, const NodeConfiguration& configuration, const Uuid& node_uuid,
              NodeResources* resources) {
  for (const auto& [resource_class, namespaces] :
       OfferedNamespaces(configuration.pmem_namespaces, facts.pmem_namespaces)) {
    for (const std::string& name : namespaces) {
      resources->units.insert({node_uuid, resource_class, name});
    }
  }
}

absl::Status TagDevices(const NodeConfiguration& configuration, Facts* facts) {
  BERTH_ASSIGN_OR_RETURN(const DeviceSpecs specs, SpecsOf(*facts, configuration));
  const InterfaceAddresses interfaces = InterfacesOf(facts->pci_devices);
  for (const PciDevice& device : facts->pci_devices) {
    const DeviceSpec* const spec = specs.Find(device, interfaces);
    if (spec == nullptr) continue;
    std::map<std::string, std::string>& tags = facts->device_tags[device.address];
    for (const auto& [name, value] : spec->tags) tags[name] = TextOfTag(value);
  }
  return absl::OkStatus();
}

absl::Status AddDevices(const Facts& facts, const NodeConfiguration& configuration,
                        NodeResources* resources) {
  BERTH_ASSIGN_OR_RETURN(resources->device_specs, SpecsOf(facts, configuration));
  BERTH_RETURN_IF_ERROR(resources->device_specs.CheckRemoteManaged(facts.pci_devices));
  resources->devices = facts.pci_devices;
  for (const Guest& guest : facts.guests) {
    resources->attached.insert(guest.devices.begin(), guest.devices.end());
  }
  return absl::OkStatus();
}

}  // namespace berth::tracker
