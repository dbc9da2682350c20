// Makes messages of what was observed.
//
// Pure functions. The uplink and services/tracker call them.
#ifndef BERTH_TRACKER_UPLINK_FACTS_MESSAGES_H_
#define BERTH_TRACKER_UPLINK_FACTS_MESSAGES_H_

#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "berth/placement/v1/facts.pb.h"
#include "tracker/audit/audit.h"

namespace berth::tracker {

// The largest number of bytes that the facts of a report may take. Placement takes 1 MiB.
inline constexpr size_t kFactsBytesMax = 1020 * 1024;

google::protobuf::Timestamp WireTime(absl::Time time);
// `type`: PciDevice::dev_type.
placement::v1::PciDeviceType WireDeviceType(const std::string& type);
// Makes the message of the report's facts, with the allocation ratios of the root's inventories in
// the report. If it would be too large, leaves out the last PCI devices. No host that exists has so
// many.
placement::v1::NodeFacts WireFacts(const Report& report);
// Whether WireFacts makes equal messages of `a` and `b`. May be false although they are equal. Much
// cheaper than two messages, since a host can have thousands of PCI devices.
bool SameWireFacts(const Report& a, const Report& b);
placement::v1::NodeObservation WireObservation(const Facts& facts, absl::Time at);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_FACTS_MESSAGES_H_
