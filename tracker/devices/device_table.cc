#include "tracker/devices/device_table.h"

#include <algorithm>
#include <utility>

#include "tracker/ground/check.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

constexpr absl::string_view kPf = "type-PF";

bool IsVirtualFunction(const PciDevice& device) {
  return device.dev_type == "type-VF" || device.dev_type == "vdpa";
}

bool IsTaken(DeviceStatus status) {
  return status == DeviceStatus::kClaimed || status == DeviceStatus::kAllocated;
}

bool HasOwner(const DeviceRecord& record) {
  return IsTaken(record.status) && !IsNil(record.instance_uuid);
}

}  // namespace

absl::string_view DeviceStatusName(DeviceStatus status) {
  switch (status) {
    case DeviceStatus::kAvailable:
      return "available";
    case DeviceStatus::kClaimed:
      return "claimed";
    case DeviceStatus::kAllocated:
      return "allocated";
    case DeviceStatus::kUnclaimable:
      return "unclaimable";
    case DeviceStatus::kUnavailable:
      return "unavailable";
  }
  return "available";
}

DeviceTable::DeviceTable(DeviceSpecs specs)
    : specs_(std::make_shared<const DeviceSpecs>(std::move(specs))) {}

DeviceTable DeviceTable::Load(DeviceSpecs specs, const std::vector<DeviceRecord>& records,
                              InterfaceAddresses interfaces) {
  DeviceTable table(std::move(specs));
  table.interfaces_ = std::move(interfaces);
  for (const DeviceRecord& record : records) {
    const auto [added, first] = table.devices_.emplace(record.device.address, Tracked());
    if (!first) continue;
    Tracked& tracked = added->second;
    tracked.record = record;
    if (!HasOwner(record)) {
      tracked.record.instance_uuid = {};
      tracked.record.request_id.clear();
      if (IsTaken(record.status)) tracked.record.status = DeviceStatus::kAvailable;
    }
    table.Describe(record.device, &tracked);
  }
  return table;
}

DeviceTable DeviceTable::Rebuild(DeviceSpecs specs, const std::vector<PciDevice>& listed,
                                 const std::vector<DeviceRecord>& owned) {
  std::vector<DeviceRecord> owners;
  std::copy_if(owned.begin(), owned.end(), std::back_inserter(owners), HasOwner);
  DeviceTable table = Load(std::move(specs), owners, InterfacesOf(listed));
  table.Sync(listed);
  for (auto& [address, tracked] : table.devices_) {
    if (!tracked.owned()) tracked.record.status = table.StatusByRelatives(tracked);
  }
  return table;
}

std::vector<DeviceTable::Tracked*> DeviceTable::Relatives(const Tracked& of) {
  std::vector<Tracked*> found;
  for (const Tracked* relative : std::as_const(*this).Relatives(of)) {
    found.push_back(&devices_.find(relative->device().address)->second);
  }
  return found;
}

std::vector<const DeviceTable::Tracked*> DeviceTable::Relatives(const Tracked& of) const {
  std::vector<const Tracked*> found;
  if (of.device().dev_type == kPf) {
    for (const auto& [address, other] : devices_) {
      if (IsVirtualFunction(other.device()) &&
          other.device().parent_address == of.device().address) {
        found.push_back(&other);
      }
    }
  } else if (IsVirtualFunction(of.device()) && of.device().parent_address) {
    const auto parent = devices_.find(*of.device().parent_address);
    if (parent != devices_.end() && parent->second.device().dev_type == kPf) {
      found.push_back(&parent->second);
    }
  }
  return found;
}

void DeviceTable::Describe(PciDevice device, Tracked* to) {
  const DeviceSpec* const spec = specs_->Find(device, interfaces_);
  to->key = nullptr;
  if (spec != nullptr) {
    to->key = *keys_.insert(std::make_shared<const DevicePoolKey>(PoolKeyOf(device, *spec))).first;
  }
  to->record.device = std::move(device);
}

DeviceStatus DeviceTable::StatusByRelatives(const Tracked& of) const {
  DeviceStatus status = DeviceStatus::kAvailable;
  if (attached_.count(of.device().address) != 0) return DeviceStatus::kUnavailable;
  for (const Tracked* relative : Relatives(of)) {
    if (relative->record.status == DeviceStatus::kAllocated ||
        attached_.count(relative->device().address) != 0) {
      return DeviceStatus::kUnavailable;
    }
    if (relative->record.status == DeviceStatus::kClaimed) status = DeviceStatus::kUnclaimable;
  }
  return status;
}

void DeviceTable::Release(Tracked* device) {
  BERTH_CHECK(!device->owned());  // Sync has just added the device
  const std::vector<const Tracked*> relatives = std::as_const(*this).Relatives(*device);
  const bool attached =
      attached_.count(device->device().address) != 0 ||
      std::any_of(relatives.begin(), relatives.end(), [this](const Tracked* relative) {
        return attached_.count(relative->device().address) != 0;
      });
  device->record.status = attached ? DeviceStatus::kUnavailable : DeviceStatus::kAvailable;
}

std::vector<std::string> DeviceTable::SetAttached(const std::set<std::string>& attached) {
  std::set<std::string> changed = std::exchange(attached_, {});
  for (const std::string& address : attached) {
    const auto found = devices_.find(address);
    if (found != devices_.end() && !found->second.owned()) attached_.insert(address);
  }
  changed.insert(attached_.begin(), attached_.end());
  for (const std::string& address : changed) {
    const auto found = devices_.find(address);
    if (found == devices_.end()) continue;
    std::vector<Tracked*> affected = Relatives(found->second);
    affected.push_back(&found->second);
    for (Tracked* device : affected) {
      if (!device->owned()) device->record.status = StatusByRelatives(*device);
    }
  }
  return {attached_.begin(), attached_.end()};
}

void DeviceTable::SetProviders(std::map<std::string, Uuid> provider_by_address) {
  provider_by_address_ = std::move(provider_by_address);
}

void DeviceTable::OfferOnly(const ProviderAmounts& allocated) {
  offered_.emplace();
  for (const auto& [provider, amount] : allocated) offered_->insert(provider);
}

std::vector<DevicePool> DeviceTable::Pools() const {
  std::map<std::shared_ptr<const DevicePoolKey>, DevicePool, KeyOrder> pools;
  for (const auto& [address, tracked] : devices_) {
    if (tracked.record.status != DeviceStatus::kAvailable || tracked.key == nullptr) continue;
    DevicePool& pool = pools[tracked.key];
    pool.addresses.push_back(address);
    ++pool.count;
  }
  std::vector<DevicePool> list;
  for (auto& [key, pool] : pools) {
    pool.key = *key;
    const auto provider =
        provider_by_address_.find(std::string(TextOf(key->properties, "address")));
    if (provider != provider_by_address_.end()) pool.provider_uuid = provider->second;
    const bool counted = !IsNil(pool.provider_uuid);
    if (counted && offered_ && offered_->count(pool.provider_uuid) == 0) continue;
    list.push_back(std::move(pool));
  }
  return list;
}

std::vector<DeviceRecord> DeviceTable::Records() const {
  std::vector<DeviceRecord> records;
  for (const auto& [address, tracked] : devices_) records.push_back(tracked.record);
  return records;
}

std::vector<DeviceUse> DeviceTable::Uses() const {
  std::vector<DeviceUse> uses;
  for (const auto& [address, tracked] : devices_) {
    const DeviceRecord& record = tracked.record;
    if (record.status == DeviceStatus::kAvailable) continue;
    uses.push_back({address, record.status, record.instance_uuid, record.request_id});
  }
  return uses;
}

const DeviceRecord* DeviceTable::Find(const std::string& address) const {
  const auto found = devices_.find(address);
  return found == devices_.end() ? nullptr : &found->second.record;
}

}  // namespace berth::tracker
