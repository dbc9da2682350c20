// Parses libvirt's node device documents into the list of a host's PCI devices.
//
// Pure functions. In the comments, PF is a physical function and VF a virtual function of a device.
#ifndef BERTH_TRACKER_FACTS_NODE_DEVICES_H_
#define BERTH_TRACKER_FACTS_NODE_DEVICES_H_

#include <optional>
#include <string>
#include <vector>

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

struct PciDump {
  std::vector<PciDevice> devices;    // sorted by address
  std::vector<std::string> skipped;  // one text per document that could not be read: why
};

// `documents` has the XML text of each node device that has the capability pci, net, vdpa or vpd.
PciDump ParseNodeDevices(const std::vector<std::string>& documents);

// Returns a JSON list of objects with sorted keys. Absent values are left out; only an absent
// numa_node is written, as null.
std::string PciDumpJson(const std::vector<PciDevice>& devices);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_NODE_DEVICES_H_
