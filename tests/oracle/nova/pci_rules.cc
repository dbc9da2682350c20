#include "tests/oracle/nova/pci_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/processes/short_uuid.h"

namespace berth::oracle::nova {

using tracker::DeviceRecord;
using tracker::DeviceRequest;

bool HasTwoWithoutType(const std::vector<std::string>& aliases) {
  std::set<std::string> names;
  for (const std::string& text : aliases) {
    const PciJson alias = PciJson::parse(text);
    if (!alias.contains("device_type") && !names.insert(alias.at("name")).second) return true;
  }
  return false;
}

std::vector<std::string> SpecsAsNova(const std::vector<std::string>& options) {
  std::vector<std::string> read;
  for (const std::string& option : options) {
    PciJson specs = PciJson::parse(option);
    if (!specs.is_array()) specs = PciJson::array({specs});
    for (PciJson& spec : specs) {
      if (!spec.contains("address") || !spec["address"].is_object()) continue;
      for (PciJson& part : spec["address"]) {
        std::string expression = part;
        for (char& c : expression) c = c >= 'A' && c <= 'F' ? 'Z' : c;
        part = expression;
      }
    }
    read.push_back(specs.dump());
  }
  return read;
}

PciJson WithoutUnlisted(PciJson devices, const std::map<std::string, PciJson>& listed) {
  for (auto device = devices.begin(); device != devices.end();) {
    const bool gone = device->size() == 1 && listed.count(device.key()) == 0;
    device = gone ? devices.erase(device) : std::next(device);
  }
  return devices;
}

bool AsksForNone(const PciJson& step) {
  const PciJson requests = step.value("requests", PciJson::array());
  return std::any_of(requests.begin(), requests.end(),
                     [](const PciJson& request) { return request.at("count") == 0; });
}

PciJson DevicesOf(const tracker::DeviceTable& table) {
  PciJson devices = PciJson::object();
  for (const DeviceRecord& record : table.Records()) {
    PciJson& device =
        devices[record.device.address] = {std::string(DeviceStatusName(record.status))};
    if (!IsNil(record.instance_uuid)) device.push_back(tracker::ShortName(record.instance_uuid));
  }
  return devices;
}

std::string CompareDevices(const PciJson& devices, const tracker::DeviceTable& table) {
  const PciJson ours = DevicesOf(table);
  if (ours == devices) return "";
  return absl::StrCat("devices: ", devices.dump(), ", here ", ours.dump());
}

std::vector<tracker::PciDevice> DevicesIn(const tracker::DeviceTable& table) {
  std::vector<tracker::PciDevice> devices;
  for (const DeviceRecord& record : table.Records()) devices.push_back(record.device);
  return devices;
}

bool ChangesOwners(const std::string& op) {
  return op == "allocate" || op == "free" || op == "free_device" || op == "clean";
}

std::vector<DeviceRecord> OwnedAfter(const PciJson& step, const tracker::DeviceTable& table) {
  const std::string op = step.at("op");
  std::set<tracker::Uuid> live;
  for (const char* const key : {"known", "migrating"}) {
    if (op != "clean") continue;
    for (const std::string name : step.at(key)) live.insert(tracker::ShortUuid(name));
  }
  const std::string name = op == "clean" ? "" : step.at("instance").get<std::string>();
  const tracker::Uuid instance = tracker::ShortUuid(name);
  std::vector<DeviceRecord> owned;
  for (DeviceRecord record : table.Records()) {
    const tracker::Uuid owner = record.instance_uuid;
    if (IsNil(owner)) continue;
    if (op == "clean" && live.count(owner) == 0) continue;
    if (op == "free" && owner == instance) continue;
    if (op == "free_device" && owner == instance && step.at("address") == record.device.address) {
      continue;
    }
    if (op == "allocate" && owner == instance) record.status = tracker::DeviceStatus::kAllocated;
    owned.push_back(std::move(record));
  }
  return owned;
}

std::string RuleOfRelatives(const PciJson& wanted, const tracker::DeviceTable& table) {
  const PciJson ours = DevicesOf(table);
  if (ours.size() != wanted.size()) return "";
  std::string rule;
  for (const auto& [address, device] : wanted.items()) {
    const PciJson here = ours.value(address, PciJson());
    if (here == device) continue;
    if (here.size() != 1 || device.size() != 1 || here.at(0) == "available") return "";
    if (device.at(0) == "available") rule = "T-396";
    if (rule.empty()) rule = "T-252";
  }
  return rule;
}

std::string CheckClaimed(const tracker::DeviceTable& table, const std::string& instance,
                         const PciJson& before,
                         const std::vector<tracker::ClaimedDevice>& claimed) {
  std::set<std::string> given;
  for (const tracker::ClaimedDevice& device : claimed) given.insert(device.address);
  if (given.size() != claimed.size()) return "T-395: a device is given twice";
  PciJson wanted = before;
  for (const DeviceRecord& record : table.Records()) {
    PciJson& device = wanted[record.device.address];
    if (given.count(record.device.address) > 0) {
      device = PciJson::array({"claimed", instance});
      continue;
    }
    bool related = given.count(record.device.parent_address.value_or("")) > 0;
    for (const std::string& address : given) {
      related |= table.Find(address)->device.parent_address == record.device.address;
    }
    if (related && device == PciJson::array({"available"}))
      device = PciJson::array({"unclaimable"});
  }
  return CompareDevices(wanted, table);
}

std::string CheckChoice(const std::vector<tracker::DevicePool>& pools,
                        const tracker::DeviceTable& table,
                        const std::vector<DeviceRequest>& requests,
                        const tracker::GuestAffinity& affinity,
                        const std::vector<tracker::ClaimedDevice>& claimed) {
  std::map<std::string, size_t> given;
  std::vector<int64_t> counts(requests.size());
  for (const tracker::ClaimedDevice& device : claimed) {
    given[device.address] = device.request;
    ++counts.at(device.request);
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    if (counts[i] != requests[i].count)
      return absl::StrCat("T-249: request ", i, " got ", counts[i]);
  }
  for (const tracker::DevicePool& pool : pools) {
    bool left = false;
    for (const std::string& address : pool.addresses) {
      const bool taken = given.count(address) > 0;
      if (left && taken) return absl::StrCat("T-249: ", address, " is not the first of its pool");
      left |= !taken && table.Find(address)->status == tracker::DeviceStatus::kAvailable;
    }
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    std::vector<tracker::DevicePool> taken = pools;
    for (tracker::DevicePool& pool : taken) {
      pool.count =
          std::count_if(pool.addresses.begin(), pool.addresses.end(), [&](const auto& one) {
            const auto found = given.find(one);
            return found != given.end() && found->second == static_cast<size_t>(i);
          });
    }
    if (!SupportsRequests(taken, {requests[i]}, affinity)) {
      return absl::StrCat("T-246: request ", i, " got other devices than it asks for");
    }
  }
  return "";
}

}  // namespace berth::oracle::nova
