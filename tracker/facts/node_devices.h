// The PCI devices of a host, from libvirt's node device documents.
//
// A parser of texts into values; pure. A document that cannot be read is left out and told.
#ifndef BERTH_TRACKER_FACTS_NODE_DEVICES_H_
#define BERTH_TRACKER_FACTS_NODE_DEVICES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace berth::tracker {

// One PCI function, in the words of the audit's PCI dump (T-97).
struct PciDevice {
  std::string dev_id;      // libvirt's name of it
  std::string address;     // 0000:3b:00.0
  std::string vendor_id;   // 8086
  std::string product_id;  // 1572
  std::optional<int> numa_node;
  std::string label;                              // label_VVVV_PPPP
  std::string dev_type;                           // type-PCI, type-PF, type-VF, vdpa
  std::optional<std::string> parent_address;      // of a VF: its PF
  std::optional<std::string> parent_interface;    // of a VF: its PF's network interface
  std::optional<std::string> mac_address;         // of a PF
  std::vector<std::string> network_features;      // offloads of its own interface
  std::optional<std::string> pf_mac_address;      // of a VF with a known PF
  std::optional<int> vf_number;                   // of a VF: its place in the PF's list
  std::optional<std::string> card_serial_number;  // from vital product data; a VF's is its PF's
};

struct PciDump {
  std::vector<PciDevice> devices;    // by address
  std::vector<std::string> skipped;  // why a document was left out
};

// `documents`: every node device with capability pci, net, vdpa or vpd.
PciDump ParseNodeDevices(const std::vector<std::string>& documents);

// The dump as JSON text: a list of objects, keys sorted, absent values left out except numa_node.
std::string PciDumpJson(const std::vector<PciDevice>& devices);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_NODE_DEVICES_H_
