// Finds what changed for a tracker's nodes while the tracker had no stream, in the batches that are
// still in memory. A tracker that comes back is sent the changes that it missed.
#ifndef BERTH_SERVICES_REPORT_MISSED_CHANGES_H_
#define BERTH_SERVICES_REPORT_MISSED_CHANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "placement/log/feed.h"
#include "placement/values/types.h"
#include "services/report/messages.h"
#include "services/report/push_scope.h"

namespace berth::services {

struct MissedChanges {
  // For each node, the names of everything that changed since the last push that its tracker
  // received. Complete if this is not known: the tracker received no push, or the revision of its
  // last push is of another epoch, is later than `now`, or is 256 batches or more before `now`.
  PushScopes scopes;
  int64_t commands = 0;  // how many commands were looked at
};

// Finds what the tracker on `host` missed of `nodes` and of the records of its host. `now`: a
// revision that the feed has reached. Looks at each command of the feed once, however many nodes
// there are.
MissedChanges FindMissed(const placement::Feed& feed, placement::Revision now,
                         const std::string& host, const std::vector<HelloNode>& nodes);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_MISSED_CHANGES_H_
