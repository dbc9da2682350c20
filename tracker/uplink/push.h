// Applies placement's pushes to what a node knows.
//
// Pure functions.
#ifndef BERTH_TRACKER_UPLINK_PUSH_H_
#define BERTH_TRACKER_UPLINK_PUSH_H_

#include "berth/placement/v1/report.pb.h"
#include "tracker/account/account.h"
#include "tracker/audit/records.h"

namespace berth::tracker {

// Applies a push of `revision`: the providers, consumers and service to `records`, the instances
// and migrations to `account`. Returns whether anything but the revision may have changed. A push
// that only repeats known generations of instances and migrations changes nothing.
bool ApplyPush(const placement::v1::Push& push, const placement::v1::Revision& revision,
               Records* records, NodeAccount* account);

// Applies the records that an answer contains. Returns whether the account may have changed.
bool ApplyAnswer(const placement::v1::RecordAnswer& answer, NodeAccount* account);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_PUSH_H_
