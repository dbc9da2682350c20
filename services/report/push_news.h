// Which names belong into the pushes to a tracker: those of what a command changed, and those of what
// changed while the tracker had no stream. Pure functions.
#ifndef BERTH_SERVICES_REPORT_PUSH_NEWS_H_
#define BERTH_SERVICES_REPORT_PUSH_NEWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "placement/log/feed.h"
#include "placement/values/types.h"
#include "services/report/messages.h"
#include "services/report/push_scope.h"

namespace berth::services {

// Adds what `command` changed to `scopes`, the scopes of nodes of the tracker on `host`: to each
// node's scope the providers and consumers of the node, and the records of the host. `is_own`: the
// tracker itself sent the command. Its Ack has the providers that it names, so only the consumers
// and the removed providers are added. A scope becomes complete if the command renewed its node
// (Scope::renewed), or if the scope would have more than kNamesMax names.
//
// Looks only at changes that concern one of the nodes or the host. Returns how many times it has
// looked at a change.
int64_t AddNews(const placement::FeedCommand& command, const std::string& host, bool is_own,
                PushScopes* scopes);

struct MissedChanges {
  // For each node, the names of everything that changed since the last push that its tracker
  // received. Complete if this is not known: the tracker received no push, or the revision of its
  // last push is of another epoch, is later than `now`, or is 256 batches or more before `now`.
  PushScopes scopes;
  int64_t commands = 0;  // how many commands were looked at
};

// Finds what the tracker on `host` missed of `nodes` and of the records of its host. `now`: a
// revision that the feed has reached. Looks at each command of the feed once, however many nodes
// there are, and only at batches that are still in memory.
MissedChanges FindMissed(const placement::Feed& feed, placement::Revision now,
                         const std::string& host, const std::vector<HelloNode>& nodes);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_PUSH_NEWS_H_
