// Lists guests and devices, and reads documents and the host, over one libvirt connection.
//
// Only Hypervisor calls these functions. They are thread-safe.
#ifndef BERTH_TRACKER_HYPERVISOR_READING_H_
#define BERTH_TRACKER_HYPERVISOR_READING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tracker/facts/facts.h"
#include "tracker/facts/monitors.h"
#include "tracker/ground/uuid.h"
#include "tracker/settings/cpu_set.h"

namespace berth::tracker {

class HypervisorConnection;

struct HostReading {
  int64_t memory_kib = 0;
  int64_t mhz = 0;
  CpuSet present;
  CpuSet online;
};

// A guest or a device of the host as libvirt lists it, without its document.
struct ListedGuest {
  Uuid uuid;
  std::string name;
  GuestState state = GuestState::kNone;
  int64_t run = -1;              // libvirt's id of the running guest, -1 while it is stopped
  std::shared_ptr<void> handle;  // libvirt's object; holds the connection open
};
struct ListedDevice {
  std::string name;
  std::shared_ptr<void> handle;
};

// The texts of documents, or why they could not be read, in the order in which they were asked for.
using DocumentTexts = std::vector<absl::StatusOr<std::string>>;

// Each function fails as the method of Hypervisor with the same result type does. If one document
// cannot be read, ReadDefinitions and ReadDevices go on with the next; if the connection is lost,
// they fail.
absl::StatusOr<std::vector<ListedGuest>> ListGuests(const HypervisorConnection& connection);
absl::StatusOr<DocumentTexts> ReadDefinitions(const HypervisorConnection& connection,
                                              const std::vector<ListedGuest>& guests);
// NotFound: the guest was removed meanwhile. Unavailable for every other failure.
absl::StatusOr<int64_t> ReadCapacity(const HypervisorConnection& connection,
                                     const ListedGuest& guest, const std::string& target);
absl::StatusOr<std::vector<ListedDevice>> ListDevices(const HypervisorConnection& connection);
absl::StatusOr<DocumentTexts> ReadDevices(const HypervisorConnection& connection,
                                          const std::vector<ListedDevice>& devices);
absl::StatusOr<CpuTimes> ReadCpuTimes(const HypervisorConnection& connection);
absl::StatusOr<HostReading> ReadHost(const HypervisorConnection& connection);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_READING_H_
