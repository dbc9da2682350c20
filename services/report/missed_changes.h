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
// of `host`, since the last push that the node's tracker on `host` received. Returns false, perhaps
// with some names added, if these changes are not known: the tracker received no push, or the
// revision of its last push is of another epoch, is later than `now`, or is too old.
bool AddMissed(const placement::Feed& feed, placement::Revision now, const std::string& host,
               const HelloNode& node, PushScope* scope);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_MISSED_CHANGES_H_
