#include "tracker/facts/node_devices.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace berth::tracker {
namespace {

struct NetDevice {
  std::string interface_name;
  std::string mac_address;
  std::vector<std::string> features;
};

// Everything that was read so far. Documents refer to each other by name or by PCI address. These
// references are resolved after the last document was read.
struct Reading {
  std::map<std::string, PciDevice> pci_by_name;
  // The addresses of the virtual functions (VFs), by the name of their physical function (PF).
  std::map<std::string, std::vector<std::string>> functions_by_name;
  std::map<std::string, NetDevice> net_by_parent;
  std::map<std::string, std::vector<std::string>> interfaces_by_parent;
  std::map<std::string, bool> vdpa_by_parent;
};

// Reads a number. libvirt writes most numbers in hexadecimal with 0x, and some in decimal.
int Number(const char* text) { return static_cast<int>(std::strtol(text, nullptr, 0)); }

std::string AddressAttributes(const pugi::xml_node& address) {
  return absl::StrFormat("%04x:%02x:%02x.%1x", Number(address.attribute("domain").as_string()),
                         Number(address.attribute("bus").as_string()),
                         Number(address.attribute("slot").as_string()),
                         Number(address.attribute("function").as_string()));
}

std::string HexId(const pugi::xml_node& node) {
  return absl::StrFormat("%04x", Number(node.attribute("id").as_string()));
}

void ReadFunctions(const pugi::xml_node& pci, PciDevice* device, Reading* reading) {
  device->dev_type = "type-PCI";
  for (const pugi::xml_node nested : pci.children("capability")) {
    const absl::string_view type = nested.attribute("type").as_string();
    if (type == "virt_functions") {
      device->dev_type = "type-PF";
      std::vector<std::string>& functions = reading->functions_by_name[device->dev_id];
      for (const pugi::xml_node address : nested.children("address")) {
        functions.push_back(AddressAttributes(address));
      }
    } else if (type == "phys_function" && nested.child("address")) {
      device->dev_type = "type-VF";
      device->parent_address = AddressAttributes(nested.child("address"));
    } else if (type == "vpd") {
      const pugi::xml_node serial = nested.child("fields").child("serial_number");
      if (serial) device->card_serial_number = serial.text().as_string();
    }
  }
}

void ReadPci(const std::string& name, const pugi::xml_node& pci, Reading* reading) {
  PciDevice device;
  device.dev_id = name;
  device.address = absl::StrFormat(
      "%04x:%02x:%02x.%1x", Number(pci.child("domain").text().as_string()),
      Number(pci.child("bus").text().as_string()), Number(pci.child("slot").text().as_string()),
      Number(pci.child("function").text().as_string()));
  device.vendor_id = HexId(pci.child("vendor"));
  device.product_id = HexId(pci.child("product"));
  device.label = absl::StrCat("label_", device.vendor_id, "_", device.product_id);
  const pugi::xml_attribute numa = pci.child("numa").attribute("node");
  if (numa && numa.as_int() >= 0) device.numa_node = numa.as_int();
  ReadFunctions(pci, &device, reading);
  reading->pci_by_name.insert_or_assign(name, std::move(device));
}

void ReadDocument(const std::string& text, Reading* reading, std::vector<std::string>* skipped) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  const pugi::xml_node root = document.child("device");
  if (!parsed || !root) {
    skipped->push_back(absl::StrCat("not a node device document: ", parsed.description()));
    return;
  }
  const std::string name = root.child("name").text().as_string();
  const std::string parent = root.child("parent").text().as_string();
  for (const pugi::xml_node capability : root.children("capability")) {
    const absl::string_view type = capability.attribute("type").as_string();
    if (type == "pci") ReadPci(name, capability, reading);
    if (type == "vdpa") reading->vdpa_by_parent[parent] = true;
    if (type != "net") continue;
    NetDevice net;
    net.interface_name = capability.child("interface").text().as_string();
    net.mac_address = capability.child("address").text().as_string();
    for (const pugi::xml_node feature : capability.children("feature")) {
      net.features.emplace_back(feature.attribute("name").as_string());
    }
    reading->interfaces_by_parent[parent].push_back(net.interface_name);
    reading->net_by_parent.insert_or_assign(parent, std::move(net));
  }
}

// Copies to a virtual function those values that it takes from its physical function. Changes
// nothing if the physical function was not listed (T-98).
void LinkToParent(const Reading& reading, PciDevice* device) {
  for (const auto& [name, parent] : reading.pci_by_name) {
    if (parent.address != *device->parent_address) continue;
    const auto net = reading.net_by_parent.find(name);
    if (net != reading.net_by_parent.end()) {
      device->parent_interface = net->second.interface_name;
      device->pf_mac_address = net->second.mac_address;
    }
    if (!device->card_serial_number) device->card_serial_number = parent.card_serial_number;
    const auto functions = reading.functions_by_name.find(name);
    if (functions == reading.functions_by_name.end()) return;
    const auto& list = functions->second;
    const auto place = std::find(list.begin(), list.end(), device->address);
    if (place != list.end()) device->vf_number = static_cast<int>(place - list.begin());
    return;
  }
}

}  // namespace

PciDump ParseNodeDevices(const std::vector<std::string>& documents) {
  PciDump dump;
  Reading reading;
  for (const std::string& text : documents) ReadDocument(text, &reading, &dump.skipped);
  for (const auto& [name, read] : reading.pci_by_name) {
    PciDevice device = read;
    const auto net = reading.net_by_parent.find(name);
    if (net != reading.net_by_parent.end()) {
      device.network_features = net->second.features;
      if (device.dev_type == "type-PF") device.mac_address = net->second.mac_address;
      device.interfaces = reading.interfaces_by_parent.at(name);
    }
    if (device.parent_address) LinkToParent(reading, &device);
    if (device.dev_type == "type-VF" && reading.vdpa_by_parent.count(name) != 0) {
      device.dev_type = "vdpa";
    }
    dump.devices.push_back(std::move(device));
  }
  std::sort(dump.devices.begin(), dump.devices.end(),
            [](const PciDevice& a, const PciDevice& b) { return a.address < b.address; });
  return dump;
}

std::string PciDumpJson(const std::vector<PciDevice>& devices) {
  nlohmann::json list = nlohmann::json::array();
  for (const PciDevice& device : devices) {
    nlohmann::json item = {{"dev_id", device.dev_id},       {"address", device.address},
                           {"vendor_id", device.vendor_id}, {"product_id", device.product_id},
                           {"label", device.label},         {"dev_type", device.dev_type},
                           {"numa_node", nullptr}};
    if (device.numa_node) item["numa_node"] = *device.numa_node;
    if (device.parent_address) item["parent_addr"] = *device.parent_address;
    if (device.parent_interface) item["parent_ifname"] = *device.parent_interface;
    if (device.mac_address) item["mac_address"] = *device.mac_address;
    nlohmann::json& capabilities = item["capabilities"] = nlohmann::json::object();
    if (!device.network_features.empty()) capabilities["network"] = device.network_features;
    if (device.pf_mac_address) capabilities["sriov"]["pf_mac_address"] = *device.pf_mac_address;
    if (device.vf_number) capabilities["sriov"]["vf_num"] = *device.vf_number;
    if (device.card_serial_number) {
      capabilities["vpd"]["card_serial_number"] = *device.card_serial_number;
    }
    if (capabilities.empty()) item.erase("capabilities");
    list.push_back(std::move(item));
  }
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace berth::tracker
