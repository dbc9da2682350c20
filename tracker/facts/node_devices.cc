#include "tracker/facts/node_devices.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace berth::tracker {
namespace {

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

void ReadFunctions(const pugi::xml_node& pci, PciDevice* device,
                   std::vector<std::string>* functions) {
  device->dev_type = "type-PCI";
  for (const pugi::xml_node nested : pci.children("capability")) {
    const absl::string_view type = nested.attribute("type").as_string();
    if (type == "virt_functions") {
      device->dev_type = "type-PF";
      for (const pugi::xml_node address : nested.children("address")) {
        functions->push_back(AddressAttributes(address));
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

void ReadPci(const pugi::xml_node& pci, NodeDevice* read) {
  PciDevice& device = read->pci.emplace();
  device.dev_id = read->name;
  device.address = absl::StrFormat(
      "%04x:%02x:%02x.%1x", Number(pci.child("domain").text().as_string()),
      Number(pci.child("bus").text().as_string()), Number(pci.child("slot").text().as_string()),
      Number(pci.child("function").text().as_string()));
  device.vendor_id = HexId(pci.child("vendor"));
  device.product_id = HexId(pci.child("product"));
  device.label = absl::StrCat("label_", device.vendor_id, "_", device.product_id);
  const pugi::xml_attribute numa = pci.child("numa").attribute("node");
  if (numa && numa.as_int() >= 0) device.numa_node = numa.as_int();
  ReadFunctions(pci, &device, &read->functions);
}

void ReadMediatedTypes(const pugi::xml_node& pci, NodeDevice* read) {
  for (const pugi::xml_node type :
       pci.find_child_by_attribute("capability", "type", "mdev_types").children("type")) {
    read->mediated_types[type.attribute("id").as_string()] =
        type.child("availableInstances").text().as_llong();
  }
}

void ReadInterface(const pugi::xml_node& net, NodeDevice* read) {
  NodeDevice::Interface& interface = read->interface.emplace();
  interface.name = net.child("interface").text().as_string();
  interface.mac_address = net.child("address").text().as_string();
  for (const pugi::xml_node feature : net.children("feature")) {
    interface.features.emplace_back(feature.attribute("name").as_string());
  }
}

// Copies to a virtual function those values that it takes from its physical function, whose
// interface is `interface`, if it has one.
void LinkToParent(const NodeDevice& parent, const NodeDevice::Interface* interface,
                  PciDevice* device) {
  if (interface != nullptr) {
    device->parent_interface = interface->name;
    device->pf_mac_address = interface->mac_address;
  }
  if (!device->card_serial_number) device->card_serial_number = parent.pci->card_serial_number;
  const auto found = std::find(parent.functions.begin(), parent.functions.end(), device->address);
  if (found != parent.functions.end()) {
    device->vf_number = static_cast<int>(found - parent.functions.begin());
  }
}

}  // namespace

absl::StatusOr<NodeDevice> ParseNodeDevice(absl::string_view document) {
  pugi::xml_document xml;
  const pugi::xml_parse_result parsed = xml.load_buffer(document.data(), document.size());
  const pugi::xml_node root = xml.child("device");
  if (!parsed || !root) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a node device document: ", parsed.description()));
  }
  NodeDevice read;
  read.name = root.child("name").text().as_string();
  read.parent = root.child("parent").text().as_string();
  for (const pugi::xml_node capability : root.children("capability")) {
    const absl::string_view type = capability.attribute("type").as_string();
    if (type == "pci") ReadPci(capability, &read);
    if (type == "pci") ReadMediatedTypes(capability, &read);
    if (type == "mdev") read.mediated_type = capability.child("type").attribute("id").as_string();
    if (type == "net") ReadInterface(capability, &read);
    if (type == "vdpa") read.vdpa = true;
  }
  return read;
}

std::set<std::string> PhysicalFunctionsOf(const std::vector<const NodeDevice*>& added,
                                          const std::vector<const NodeDevice*>& devices) {
  std::set<std::string> addresses;
  for (const NodeDevice* const device : added) {
    if (device->pci && device->pci->parent_address) addresses.insert(*device->pci->parent_address);
  }
  std::set<std::string> names;
  for (const NodeDevice* const device : devices) {
    if (device->pci && addresses.count(device->pci->address) != 0) names.insert(device->name);
  }
  return names;
}

std::vector<PciDevice> LinkDevices(const std::vector<const NodeDevice*>& devices) {
  std::map<std::string, std::vector<const NodeDevice::Interface*>> interfaces_by_parent;
  std::map<std::string, const NodeDevice*> pci_by_address;
  std::set<std::string> parents_of_vdpa;
  for (const NodeDevice* const device : devices) {
    if (device->interface) interfaces_by_parent[device->parent].push_back(&*device->interface);
    if (device->pci) pci_by_address[device->pci->address] = device;
    if (device->vdpa) parents_of_vdpa.insert(device->parent);
  }
  // If a device has several interfaces, the last one is the one that counts.
  const auto interface_of = [&](const std::string& name) -> const NodeDevice::Interface* {
    const auto found = interfaces_by_parent.find(name);
    return found == interfaces_by_parent.end() ? nullptr : found->second.back();
  };
  std::vector<PciDevice> linked;
  for (const auto& [address, read] : pci_by_address) {
    PciDevice& device = linked.emplace_back(*read->pci);
    if (const NodeDevice::Interface* const own = interface_of(read->name)) {
      device.network_features = own->features;
      if (device.dev_type == "type-PF") device.mac_address = own->mac_address;
      for (const NodeDevice::Interface* const one : interfaces_by_parent.at(read->name)) {
        device.interfaces.push_back(one->name);
      }
    }
    if (device.parent_address) {
      const auto parent = pci_by_address.find(*device.parent_address);
      if (parent != pci_by_address.end()) {
        LinkToParent(*parent->second, interface_of(parent->second->name), &device);
      }
    }
    if (device.dev_type == "type-VF" && parents_of_vdpa.count(read->name) != 0) {
      device.dev_type = "vdpa";
    }
  }
  return linked;
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
