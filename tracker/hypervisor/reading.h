// Reads the host, all guests or all devices over one libvirt connection, into plain values.
//
// Only Hypervisor calls these functions. They are thread-safe.
#ifndef BERTH_TRACKER_HYPERVISOR_READING_H_
#define BERTH_TRACKER_HYPERVISOR_READING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tracker/facts/facts.h"
#include "tracker/settings/cpu_set.h"

namespace berth::tracker {

class HypervisorConnection;

struct HostReading {
  int64_t memory_kib = 0;
  int64_t mhz = 0;
  CpuSet present;
  CpuSet online;
};

// A guest as libvirt describes it. Its definition is not parsed yet.
struct GuestReading {
  std::string uuid;
  std::string name;
  GuestState state = GuestState::kNone;
  std::optional<int64_t> vcpus;
  int64_t memory_max_mib = 0;
  int64_t memory_mib = 0;
  // The sizes of the guest's disks that libvirt told, by the names of the disks in the guest.
  std::map<std::string, int64_t> capacity_bytes_by_target;
  std::string definition_xml;  // empty if libvirt did not tell it
};

struct GuestList {
  std::vector<GuestReading> guests;   // sorted by uuid
  std::vector<std::string> warnings;  // the parts that could not be read
};

struct DeviceList {
  std::vector<std::string> documents;  // for ParseNodeDevices
  std::vector<std::string> warnings;
};

// Each function fails as the method of Hypervisor with the same result type does.
absl::StatusOr<GuestList> ReadGuests(const HypervisorConnection& connection);
absl::StatusOr<DeviceList> ReadDevices(const HypervisorConnection& connection);
absl::StatusOr<HostReading> ReadHost(const HypervisorConnection& connection);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_READING_H_
