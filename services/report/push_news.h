// Which names (push_scope.h) belong into the pushes to a tracker: those of what a command changed
// (AddNews), and those of what the tracker has missed (FindMissed). The functions keep no state.
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

// Adds what `command` changed to `scopes`, the scopes of nodes of the tracker on `host`. Each scope
// gets the changed providers and consumers of its node, the changed instances and migrations of the
// host, and `service` if a service of the host was put. `is_own`: the tracker of `host` sent the
// command. Then the providers that were put are not added: if the command is a report, the Ack has
// their generations. A scope becomes complete if the command renewed the node (Scope::renewed), or
// if the scope would have more than kNamesMax names. A complete scope gets no names.
//
// Looks only at changes that concern one of the nodes or the host. Returns how many times it has
// looked at a change.
int64_t AddNews(const placement::FeedCommand& command, const std::string& host, bool is_own,
                PushScopes* scopes);

struct MissedChanges {
  // What changed for each node after the revision of the last push that the tracker received for
  // the node (HelloNode::pushed). A scope is complete if there is no such revision; if the revision
  // is of another epoch or history, is later than `now`, or is 256 batches or more before `now`; if
  // the feed has dropped batches after the revision; or if AddNews makes the scope complete. A node
  // without a scope missed nothing.
  PushScopes scopes;
  int64_t commands = 0;  // how many commands were looked at
};

// Finds what the tracker on `host` missed of `nodes` and of the records of its host, as far as the
// feed has it. `now`: the revision of a published state. Looks at each command of the feed at most
// once, however many nodes there are. May log an alarm (AlarmOfHistory).
MissedChanges FindMissed(const placement::Feed& feed, placement::Revision now,
                         const std::string& host, const std::vector<HelloNode>& nodes);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_PUSH_NEWS_H_
