#include "tracker/facts/domain_xml.h"

#include <cmath>
#include <cstdlib>
#include <pugixml.hpp>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace berth::tracker {
namespace {

// Returns the amount of a <memory unit='...'> element in KiB, rounded up. Without a unit the amount
// is in KiB.
int64_t MemoryKib(const pugi::xml_node& memory) {
  const std::string unit = absl::AsciiStrToLower(memory.attribute("unit").as_string("KiB"));
  double bytes_per_unit = 1024;
  if (unit == "b" || unit == "bytes") bytes_per_unit = 1;
  if (unit == "kb") bytes_per_unit = 1e3;
  if (unit == "mb") bytes_per_unit = 1e6;
  if (unit == "m" || unit == "mib") bytes_per_unit = 1048576;
  if (unit == "gb") bytes_per_unit = 1e9;
  if (unit == "g" || unit == "gib") bytes_per_unit = 1073741824.0;
  const double amount = static_cast<double>(memory.text().as_llong());
  return static_cast<int64_t>(std::ceil(amount * bytes_per_unit / 1024));
}

GuestDisk ReadDisk(const pugi::xml_node& node) {
  GuestDisk disk;
  disk.type = node.attribute("type").as_string();
  disk.device = node.attribute("device").as_string("disk");
  disk.format = node.child("driver").attribute("type").as_string();
  const pugi::xml_node source = node.child("source");
  for (const char* const name : {"file", "dev", "dir"}) {
    if (disk.path.empty()) disk.path = source.attribute(name).as_string();
  }
  disk.target = node.child("target").attribute("dev").as_string();
  if (disk.target.empty()) disk.target = node.child("target").attribute("dir").as_string();
  return disk;
}

// Adds the address that `source` names as `dddd:bb:ss.f`.
void AddAddress(const pugi::xml_node& source, std::vector<std::string>* addresses) {
  const pugi::xml_node address = source.child("address");
  if (!address) return;
  const auto number = [&](const char* name) {
    return static_cast<uint32_t>(strtoul(address.attribute(name).as_string("0"), nullptr, 0));
  };
  addresses->push_back(absl::StrFormat("%04x:%02x:%02x.%x", number("domain"), number("bus"),
                                       number("slot"), number("function")));
}

std::vector<std::string> ReadDevices(const pugi::xml_node& devices) {
  std::vector<std::string> addresses;
  for (const pugi::xml_node device : devices.children()) {
    const absl::string_view element = device.name();
    const absl::string_view type = device.attribute("type").as_string();
    if ((element == "hostdev" && type == "pci") || (element == "interface" && type == "hostdev") ||
        (element == "disk" && type == "nvme")) {
      AddAddress(device.child("source"), &addresses);
    }
  }
  return addresses;
}

}  // namespace

absl::StatusOr<GuestDefinition> ParseGuestDefinition(absl::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(xml.data(), xml.size());
  if (!parsed) {
    return absl::InvalidArgumentError(absl::StrCat("not XML: ", parsed.description()));
  }
  const pugi::xml_node root = document.child("domain");
  if (!root) return absl::InvalidArgumentError("libvirt sent no <domain> element");
  GuestDefinition guest;
  guest.name = root.child("name").text().as_string();
  guest.type = root.attribute("type").as_string();
  guest.vcpus_max = root.child("vcpu").text().as_int(1);
  guest.vcpus = root.child("vcpu").attribute("current").as_int(guest.vcpus_max);
  guest.memory_max_kib = MemoryKib(root.child("memory"));
  const pugi::xml_node current = root.child("currentMemory");
  guest.memory_kib = current ? MemoryKib(current) : guest.memory_max_kib;
  const pugi::xml_node devices = root.child("devices");
  // The definition of a parallels container lists its root disk as a file system.
  const char* const element = guest.type == "parallels" ? "filesystem" : "disk";
  for (const pugi::xml_node disk : devices.children(element)) {
    guest.disks.push_back(ReadDisk(disk));
  }
  guest.devices = ReadDevices(devices);
  return guest;
}

}  // namespace berth::tracker
