#include "tracker/audit/resources.h"

#include <optional>

#include "tracker/audit/reserve.h"

namespace berth::tracker {

NodeResources ResourcesOf(const Facts& facts, const NodeConfiguration& configuration) {
  NodeResources resources;
  resources.total = {facts.vcpus.value_or(0), facts.memory_mib.value_or(0),
                     facts.local_disk_gib.value_or(0) * kMibPerGib};
  resources.reserve = ReserveOf(facts, configuration).amounts;
  resources.topology = facts.numa_topology.value_or(std::nullopt);
  resources.devices = facts.pci_devices;
  return resources;
}

}  // namespace berth::tracker
