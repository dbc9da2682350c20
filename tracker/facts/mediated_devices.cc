#include "tracker/facts/mediated_devices.h"

#include <algorithm>
#include <utility>

namespace berth::tracker {

std::vector<MediatedParent> FindMediatedParents(const std::vector<const NodeDevice*>& devices) {
  std::map<std::string, MediatedParent> parents;  // by libvirt's name
  for (const NodeDevice* const device : devices) {
    if (device->pci && !device->mediated_types.empty()) {
      parents[device->name].available = device->mediated_types;
    }
    if (!device->mediated_type.empty()) ++parents[device->parent].existing[device->mediated_type];
  }
  std::vector<MediatedParent> found;
  for (const NodeDevice* const device : devices) {
    const auto parent = parents.find(device->name);
    if (parent == parents.end() || !device->pci) continue;
    parent->second.address = device->pci->address;
    found.push_back(std::move(parent->second));
  }
  std::sort(found.begin(), found.end(),
            [](const MediatedParent& a, const MediatedParent& b) { return a.address < b.address; });
  return found;
}

}  // namespace berth::tracker
