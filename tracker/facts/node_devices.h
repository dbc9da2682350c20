// Parses libvirt's node device documents into the list of a host's PCI devices.
//
// Pure functions. In the comments, PF is a physical function and VF a virtual function of a device.
#ifndef BERTH_TRACKER_FACTS_NODE_DEVICES_H_
#define BERTH_TRACKER_FACTS_NODE_DEVICES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::tracker {

// One PCI function. Its names and values are those of the JSON text that PciDumpJson writes (T-97);
// the text has no interfaces.
struct PciDevice {
  std::string dev_id;      // the name that libvirt gives it, for example pci_0000_3b_00_0
  std::string address;     // 0000:3b:00.0
  std::string vendor_id;   // 8086
  std::string product_id;  // 1572
  std::optional<int> numa_node;
  std::string label;                              // label_VVVV_PPPP
  std::string dev_type;                           // type-PCI, type-PF, type-VF, vdpa
  std::vector<std::string> interfaces;            // names of its own network interfaces
  std::optional<std::string> parent_address;      // of a VF: its PF
  std::optional<std::string> parent_interface;    // of a VF: its PF's network interface
  std::optional<std::string> mac_address;         // of a PF
  std::vector<std::string> network_features;      // offloads of its own interface
  std::optional<std::string> pf_mac_address;      // of a VF with a known PF
  std::optional<int> vf_number;                   // of a VF: its index in the PF's list of VFs
  std::optional<std::string> card_serial_number;  // from vital product data; a VF has its PF's

  friend bool operator==(const PciDevice&, const PciDevice&) = default;
};

// The content of one node device document. Documents refer to each other by name and by PCI
// address, so LinkDevices needs all of them.
struct NodeDevice {
  struct Interface {
    std::string name;
    std::string mac_address;
    std::vector<std::string> features;
  };
  std::string name;    // the name that libvirt gives it
  std::string parent;  // the name of the device to which it belongs
  std::optional<PciDevice> pci;
  std::vector<std::string> functions;  // of a PF: the addresses of its VFs
  std::optional<Interface> interface;  // of a network interface
  bool vdpa = false;
  // Of a device that offers mediated devices: how many more it can make now, by type.
  std::map<std::string, int64_t> mediated_types;
  std::string mediated_type;  // of a mediated device, which `parent` offers; else empty
};

// Parses the document of a node device that has the capability pci, net, vdpa, vpd or mdev.
// InvalidArgument if `document` is not a node device document.
absl::StatusOr<NodeDevice> ParseNodeDevice(absl::string_view document);

// Returns the names of the physical functions to which the virtual functions of `added` belong, as
// far as they are among `devices`. When a VF appears, the document of its PF must be read again:
// only that document tells the number of the VF, and no event says that it has changed.
std::set<std::string> PhysicalFunctionsOf(const std::vector<const NodeDevice*>& added,
                                          const std::vector<const NodeDevice*>& devices);

// Returns the PCI devices among `devices`, sorted by address, with the values that they take from
// their interfaces and physical functions. A VF without a listed PF keeps its own values (T-98).
std::vector<PciDevice> LinkDevices(const std::vector<const NodeDevice*>& devices);

// Returns a JSON list of objects with sorted keys. Absent values are left out; only an absent
// numa_node is written, as null.
std::string PciDumpJson(const std::vector<PciDevice>& devices);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_NODE_DEVICES_H_
