// Makes messages of what was observed.
//
// Pure functions. The uplink and services/tracker call them.
#ifndef BERTH_TRACKER_UPLINK_FACTS_MESSAGES_H_
#define BERTH_TRACKER_UPLINK_FACTS_MESSAGES_H_

#include "absl/time/time.h"
#include "berth/placement/v1/facts.pb.h"
#include "tracker/audit/audit.h"

namespace berth::tracker {

google::protobuf::Timestamp WireTime(absl::Time time);
placement::v1::NodeFacts WireFacts(const Facts& facts);
placement::v1::NodeObservation WireObservation(const Facts& facts, absl::Time at);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_FACTS_MESSAGES_H_
