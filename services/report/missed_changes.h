// Finds what changed for a node while its tracker had no stream, in the batches that are still in
// memory.
#ifndef BERTH_SERVICES_REPORT_MISSED_CHANGES_H_
#define BERTH_SERVICES_REPORT_MISSED_CHANGES_H_

#include "placement/log/feed.h"
#include "placement/values/types.h"
#include "services/report/messages.h"

namespace berth::services {

// Adds to `scope` the names of what changed in the tree of `node` after the last push that its
// tracker has. False if that cannot be found: the tracker has no push, or its push is of another
// epoch, of a revision after `now`, or too old. `scope` may then contain a part of the names.
bool AddMissed(const placement::Feed& feed, placement::Revision now, const HelloNode& node,
               PushScope* scope);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_MISSED_CHANGES_H_
