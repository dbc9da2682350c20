#include "tracker/audit/resources.h"

#include <optional>

#include "tracker/audit/reserve.h"
#include "tracker/facts/pmem.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {

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

absl::Status AddDevices(const Facts& facts, const NodeConfiguration& configuration,
                        NodeResources* resources) {
  DeviceSpecLimits limits;
  limits.report_in_placement = configuration.pci_report_in_placement;
  limits.live_migration =
      OffersDeviceLiveMigration(facts.library_version, facts.hypervisor_version);
  BERTH_ASSIGN_OR_RETURN(resources->device_specs,
                         DeviceSpecs::Parse(configuration.pci_device_specs, limits));
  BERTH_RETURN_IF_ERROR(resources->device_specs.CheckRemoteManaged(facts.pci_devices));
  resources->devices = facts.pci_devices;
  for (const Guest& guest : facts.guests) {
    resources->attached.insert(guest.devices.begin(), guest.devices.end());
  }
  return absl::OkStatus();
}

}  // namespace berth::tracker
