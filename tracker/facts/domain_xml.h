// Parses the size and the disks of a guest from its definition.
//
// A pure function.
#ifndef BERTH_TRACKER_FACTS_DOMAIN_XML_H_
#define BERTH_TRACKER_FACTS_DOMAIN_XML_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::tracker {

struct GuestDisk {
  std::string type;    // file, block, network, volume, ...
  std::string device;  // disk, cdrom, floppy, lun
  std::string format;  // the type that the driver element names: qcow2, raw, ploop, ...
  std::string path;    // source file, device or directory; empty if the disk has none
  std::string target;  // the name of the disk in the guest, for example vda
};

struct GuestDefinition {
  std::string name;
  std::string type;  // kvm, qemu, lxc, test, ...
  int vcpus_max = 0;
  int vcpus = 0;  // those of vcpus_max that are switched on
  int64_t memory_max_kib = 0;
  int64_t memory_kib = 0;  // with the balloon's effect when the document was written
  std::vector<GuestDisk> disks;
  // The PCI addresses of the host's devices that are attached to the guest: passed through, as a
  // network interface, or as an NVMe disk.
  std::vector<std::string> devices;
};

// InvalidArgument if `xml` is not a domain document.
absl::StatusOr<GuestDefinition> ParseGuestDefinition(absl::string_view xml);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_DOMAIN_XML_H_
