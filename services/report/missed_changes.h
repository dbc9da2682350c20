// What a tracker missed of a node while its stream was broken, from the batches that are still in memory.
#ifndef BERTH_SERVICES_REPORT_MISSED_CHANGES_H_
#define BERTH_SERVICES_REPORT_MISSED_CHANGES_H_

#include "placement/log/feed.h"
#include "placement/values/types.h"
#include "services/report/messages.h"

namespace berth::services {

// Adds to `scope` the names of what changed in the tree of `node` after the revision that its tracker has
// heard. False where that is not known: it heard nothing, or what it heard is of another epoch, newer than
// `now`, or too long ago; `scope` may then hold a part.
bool AddMissed(const placement::Feed& feed, placement::Revision now, const HelloNode& node,
               PushScope* scope);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_MISSED_CHANGES_H_
