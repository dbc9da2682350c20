// The bulk readings of a hypervisor, made on one connection. For hypervisor*.cc only.
#ifndef BERTH_TRACKER_HYPERVISOR_READING_H_
#define BERTH_TRACKER_HYPERVISOR_READING_H_

#include "absl/status/statusor.h"
#include "tracker/hypervisor.h"
#include "tracker/hypervisor_connection.h"

namespace berth::tracker {

absl::StatusOr<GuestList> ReadGuests(const HypervisorConnection& connection);
absl::StatusOr<DeviceList> ReadDevices(const HypervisorConnection& connection);
absl::StatusOr<HostReading> ReadHost(const HypervisorConnection& connection);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_READING_H_
