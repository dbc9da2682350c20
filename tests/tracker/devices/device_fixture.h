// PCI devices, specifications and requests for tests.
#ifndef BERTH_TESTS_TRACKER_DEVICES_DEVICE_FIXTURE_H_
#define BERTH_TESTS_TRACKER_DEVICES_DEVICE_FIXTURE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/processes/short_uuid.h"
#include "tracker/devices/device_table.h"

namespace berth::tracker {

inline PciDevice OneDevice(const std::string& address, const std::string& type,
                           const std::string& product, std::optional<int> numa_node = 0) {
  PciDevice device;
  device.address = address;
  device.vendor_id = "8086";
  device.product_id = product;
  device.dev_type = type;
  device.numa_node = numa_node;
  return device;
}

// A PF at `bus`:00.0 with so many VFs at `bus`:02.0 and up.
inline std::vector<PciDevice> CardOf(const std::string& bus, int functions,
                                     std::optional<int> numa_node = 0) {
  const std::string physical = absl::StrCat("0000:", bus, ":00.0");
  std::vector<PciDevice> card = {OneDevice(physical, "type-PF", "1583", numa_node)};
  for (int i = 0; i < functions; ++i) {
    PciDevice& function = card.emplace_back(
        OneDevice(absl::StrCat("0000:", bus, ":02.", i), "type-VF", "154c", numa_node));
    function.parent_address = physical;
  }
  return card;
}

inline DeviceSpecs SpecsOf(const std::vector<std::string>& options) {
  return DeviceSpecs::Parse(options, {.report_in_placement = true, .live_migration = true}).value();
}

inline DeviceSpecs AnyIntel() { return SpecsOf({R"({"vendor_id": "8086"})"}); }

inline DeviceRequest Asking(int64_t count, DeviceProperties wanted,
                            DeviceNumaPolicy policy = DeviceNumaPolicy::kLegacy) {
  DeviceRequest request;
  request.count = count;
  request.alternatives = {std::move(wanted)};
  request.numa_policy = policy;
  return request;
}

// The records of the devices with an owner.
inline std::vector<DeviceRecord> OwnedIn(const DeviceTable& table) {
  std::vector<DeviceRecord> owned = table.Records();
  std::erase_if(owned, [](const DeviceRecord& record) { return IsNil(record.instance_uuid); });
  return owned;
}

// The table of a node that lists the devices, after the instance has given back its devices.
inline DeviceTable Freed(const DeviceTable& table, const std::vector<PciDevice>& listed,
                         const Uuid& instance) {
  std::vector<DeviceRecord> owned = OwnedIn(table);
  std::erase_if(owned, [&](const DeviceRecord& one) { return one.instance_uuid == instance; });
  return DeviceTable::Rebuild(table.specs(), listed, owned);
}

// The same table after all that the instance has claimed is allocated to it.
inline DeviceTable Allocated(const DeviceTable& table, const std::vector<PciDevice>& listed,
                             const Uuid& instance) {
  std::vector<DeviceRecord> owned = OwnedIn(table);
  for (DeviceRecord& record : owned) {
    if (record.instance_uuid == instance) record.status = DeviceStatus::kAllocated;
  }
  return DeviceTable::Rebuild(table.specs(), listed, owned);
}

inline std::string StatusIn(const DeviceTable& table, const std::string& address) {
  const DeviceRecord* const record = table.Find(address);
  if (record == nullptr) return "none";
  const std::string status(DeviceStatusName(record->status));
  return IsNil(record->instance_uuid) ? status
                                      : absl::StrCat(status, " ", ShortName(record->instance_uuid));
}

// The pools as text: type and count of each, for example `type-PF:1 type-VF:4`.
inline std::string PoolsText(const std::vector<DevicePool>& pools) {
  std::string text;
  for (const DevicePool& pool : pools) {
    absl::StrAppend(&text, text.empty() ? "" : " ", TextOf(pool.key.properties, "dev_type"), ":",
                    pool.count);
  }
  return text;
}

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_DEVICES_DEVICE_FIXTURE_H_
