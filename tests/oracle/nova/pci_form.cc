#include "tests/oracle/nova/pci_form.h"

#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace berth::oracle::nova {

using tracker::DeviceRecord;
using tracker::DeviceRequest;
using tracker::DeviceStatus;
using tracker::PciDevice;

PciDevice DeviceOf(const PciJson& from, const PciJson& netdevs) {
  PciDevice device;
  device.address = from.at("address");
  device.vendor_id = from.at("vendor_id");
  device.product_id = from.at("product_id");
  device.dev_type = from.at("dev_type");
  if (!from.at("numa_node").is_null()) device.numa_node = from["numa_node"].get<int>();
  if (from.contains("parent_addr")) device.parent_address = from["parent_addr"];
  if (from.contains("parent_ifname")) device.parent_interface = from["parent_ifname"];
  const PciJson serial = from.value("/capabilities/vpd/card_serial_number"_json_pointer, PciJson());
  if (serial.is_string()) device.card_serial_number = serial.get<std::string>();
  for (const auto& [name, address] : netdevs.items()) {
    if (address == device.address) device.interfaces.push_back(name);
  }
  return device;
}

PciJson JsonOf(const tracker::DeviceProperties& properties) {
  PciJson json = PciJson::object();
  for (const auto& [name, value] : properties) {
    std::visit([&, key = name](const auto& content) { json[key] = content; }, value);
  }
  return json;
}

PciJson JsonOf(const std::vector<tracker::DeviceProperties>& alternatives) {
  PciJson json = PciJson::array();
  for (const tracker::DeviceProperties& properties : alternatives)
    json.push_back(JsonOf(properties));
  return json;
}

PciJson JsonOf(const DeviceRequest& request) {
  return {{"count", request.count},
          {"spec", JsonOf(request.alternatives)},
          {"numa_policy", std::string(DeviceNumaPolicyName(request.numa_policy))},
          {"alias_name", request.alias_name}};
}

DeviceRequest RequestOf(const PciJson& from) {
  DeviceRequest request;
  request.count = from.at("count");
  for (const PciJson& alternative : from.at("spec")) {
    tracker::DeviceProperties& properties = request.alternatives.emplace_back();
    for (const auto& [key, value] : alternative.items())
      properties[key] = value.is_null() ? "" : value.get<std::string>();
  }
  if (from.at("numa_policy").is_string()) {
    request.numa_policy =
        tracker::ParseDeviceNumaPolicy(from["numa_policy"].get<std::string>()).value();
  }
  if (from.at("alias_name").is_string()) request.alias_name = from["alias_name"];
  return request;
}

DeviceStatus StatusOf(const std::string& name) {
  for (const DeviceStatus status :
       {DeviceStatus::kAvailable, DeviceStatus::kClaimed, DeviceStatus::kAllocated,
        DeviceStatus::kUnclaimable, DeviceStatus::kUnavailable}) {
    if (DeviceStatusName(status) == name) return status;
  }
  throw std::invalid_argument("no such status: " + name);
}

PciJson KindOf(const tracker::DevicePoolKey& key) {
  tracker::DeviceProperties tags = key.properties;
  PciJson kind = {{"vendor_id", std::string(tracker::TextOf(tags, "vendor_id"))},
                  {"product_id", std::string(tracker::TextOf(tags, "product_id"))},
                  {"numa_node", nullptr}};
  for (const char* const name : {"vendor_id", "product_id", "address"}) tags.erase(name);
  if (key.numa_node) kind["numa_node"] = *key.numa_node;
  kind["tags"] = JsonOf(tags);
  return kind;
}

PoolCounts CountPools(const std::vector<tracker::DevicePool>& pools) {
  PoolCounts counts;
  for (const tracker::DevicePool& pool : pools) counts[KindOf(pool.key).dump()] += pool.count;
  return counts;
}

PoolCounts CountPools(const PciJson& recorded) {
  PoolCounts counts;
  for (PciJson pool : recorded) {
    const int64_t count = pool.at("count");
    pool.erase("count");
    if (count != 0) counts[pool.dump()] += count;
  }
  return counts;
}

std::string Text(const PoolCounts& counts) {
  std::string text;
  for (const auto& [kind, count] : counts) absl::StrAppend(&text, " ", count, " of ", kind);
  return text;
}

}  // namespace berth::oracle::nova
