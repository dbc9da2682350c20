// What a tracker must be told of a command. A pure function.
#ifndef BERTH_SERVICES_REPORT_PUSH_NEWS_H_
#define BERTH_SERVICES_REPORT_PUSH_NEWS_H_

#include <cstdint>
#include <string>

#include "placement/log/feed.h"
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

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_PUSH_NEWS_H_
