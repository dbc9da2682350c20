// What the bulk readings of a hypervisor bring, and how they are made on one connection.
//
// Plain values; the functions are for hypervisor.cc.
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

// A guest as libvirt tells it, its definition still as text.
struct GuestReading {
  std::string uuid;
  std::string name;
  GuestState state = GuestState::kNone;
  std::optional<int64_t> vcpus;
  int64_t memory_max_mib = 0;
  int64_t memory_mib = 0;
  std::map<std::string, int64_t> capacity_bytes_by_target;  // disks whose size libvirt told
  std::string definition_xml;                               // empty when it would not tell
};

struct GuestList {
  std::vector<GuestReading> guests;   // by uuid
  std::vector<std::string> warnings;  // what could not be read of which guest
};

struct DeviceList {
  std::vector<std::string> documents;
  std::vector<std::string> warnings;
};

// Each fails as the methods of Hypervisor with the same answers do.
absl::StatusOr<GuestList> ReadGuests(const HypervisorConnection& connection);
absl::StatusOr<DeviceList> ReadDevices(const HypervisorConnection& connection);
absl::StatusOr<HostReading> ReadHost(const HypervisorConnection& connection);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_READING_H_
