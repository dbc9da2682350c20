// Finds what changed for a node while its tracker had no stream, in the batches that are still in
// memory. A tracker that comes back is sent the changes that it missed.
#ifndef BERTH_SERVICES_REPORT_MISSED_CHANGES_H_
#define BERTH_SERVICES_REPORT_MISSED_CHANGES_H_

#include <string>

#include "placement/log/feed.h"
#include "placement/values/types.h"
#include "services/report/messages.h"

namespace berth::services {

// Adds to `scope` the names of everything that changed in the tree of `node`, and among the records
// of `host`, after the last push that the node's tracker, which runs on `host`, received. Returns
// false if this is not known, because the tracker received no push, or the revision of the last
// push is from another epoch, after `now`, or too old. Then `scope` may contain some of the names.
bool AddMissed(const placement::Feed& feed, placement::Revision now, const std::string& host,
               const HelloNode& node, PushScope* scope);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_MISSED_CHANGES_H_
