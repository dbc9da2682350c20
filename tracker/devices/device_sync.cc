// The methods of DeviceTable that make it follow the devices that the host lists.
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/devices/device_table.h"

namespace berth::tracker {

DeviceSync DeviceTable::Sync(const std::vector<PciDevice>& listed) {
  DeviceSync sync;
  interfaces_ = InterfacesOf(listed);
  keys_.clear();
  std::map<std::string, const PciDevice*> wanted;
  for (const PciDevice& device : listed) {
    if (specs_->Find(device, interfaces_) != nullptr) wanted.emplace(device.address, &device);
  }
  SyncKnown(wanted, &sync);
  for (const auto& [address, device] : wanted) {
    const auto [added, is_new] = devices_.emplace(address, Tracked());
    if (!is_new) continue;
    Describe(*device, &added->second);
    Release(&added->second);
    sync.added.push_back(address);
  }
  // If a PF has become another kind of device, its former VFs become available here. Nothing else
  // would change their status.
  for (auto& [address, tracked] : devices_) {
    if (!tracked.owned() && StatusByRelatives(tracked) == DeviceStatus::kAvailable) {
      tracked.record.status = DeviceStatus::kAvailable;
    }
  }
  for (auto it = attached_.begin(); it != attached_.end();) {
    it = devices_.count(*it) == 0 ? attached_.erase(it) : std::next(it);
  }
  warnings_ = Warnings(sync);
  return sync;
}

void DeviceTable::SyncKnown(const std::map<std::string, const PciDevice*>& wanted,
                            DeviceSync* sync) {
  for (auto it = devices_.begin(); it != devices_.end();) {
    Tracked& tracked = it->second;
    const auto found = wanted.find(it->first);
    if (found == wanted.end() && !tracked.owned()) {
      sync->removed.push_back(it->first);
      it = devices_.erase(it);
      continue;
    }
    if (found == wanted.end()) {
      sync->kept.push_back(it->first);
      Describe(tracked.device(), &tracked);
    } else if (tracked.owned() && !tracked.device().dev_type.empty()) {
      Describe(tracked.device(), &tracked);
    } else {
      if (tracked.device() != *found->second) sync->updated.push_back(it->first);
      Describe(*found->second, &tracked);
    }
    ++it;
  }
}

std::vector<std::string> DeviceTable::Warnings(const DeviceSync& sync) const {
  std::vector<std::string> warnings = specs_->Warnings(interfaces_);
  for (const std::string& address : sync.kept) {
    const DeviceRecord& record = devices_.at(address).record;
    warnings.push_back(
        absl::StrCat("PCI device ", address, " is ", DeviceStatusName(record.status),
                     " by instance ", record.instance_uuid.ToString(),
                     ", but it is no longer in the host or in device_spec: restore its ",
                     "specification, or delete or move the instance"));
  }
  return warnings;
}

}  // namespace berth::tracker
