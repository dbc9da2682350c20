// What a guest's definition says of its size and its disks.
//
// A parser of text into values; pure.
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
  std::string format;  // the driver's type: qcow2, raw, ...; ploop
  std::string path;    // source file, device or directory; empty for none
  std::string target;  // the guest's name of it
};

struct GuestDefinition {
  std::string uuid;
  std::string name;
  std::string type;  // kvm, qemu, lxc, test, ...
  int vcpus_max = 0;
  int64_t memory_max_mib = 0;
  std::vector<GuestDisk> disks;
};

// InvalidArgument when the text is not a domain document.
absl::StatusOr<GuestDefinition> ParseGuestDefinition(absl::string_view xml);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_DOMAIN_XML_H_
