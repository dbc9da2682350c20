// Makes messages of what is promised on a node.
//
// Pure functions. The uplink and services/tracker call them.
#ifndef BERTH_TRACKER_UPLINK_ACCOUNT_MESSAGES_H_
#define BERTH_TRACKER_UPLINK_ACCOUNT_MESSAGES_H_

#include "berth/placement/v1/facts.pb.h"
#include "tracker/audit/report.h"

namespace berth::tracker {

placement::v1::NodeAccount WireAccount(const Report& report);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_ACCOUNT_MESSAGES_H_
