#include "services/report/missed_changes.h"

#include <algorithm>

#include "services/process/history_alarm.h"
#include "services/report/push_news.h"

namespace berth::services {
namespace {

using placement::FeedBatchPtr;
using placement::ProviderId;
using placement::Revision;

constexpr int kBatchesMax = 256;  // a tracker that missed so many is sent everything

// A node, and the revision of the last push for it that its tracker received. The feed has all
// batches after that.
struct LastPush {
  Revision revision;
  ProviderId node;
};

// Whether the feed has all batches after `heard`, and these are few enough.
bool IsInFeed(const placement::Feed& feed, Revision now, Revision heard) {
  // If a new epoch has begun, the tracker may have changes that were lost with the old one. Only a
  // push of the node's whole tree removes them from the tracker's records.
  if (heard.epoch != now.epoch) return false;
  if (heard > now) {
    AlarmOfHistory("a tracker", heard, now);
    return false;
  }
  if (heard.number <= now.number - kBatchesMax) return false;
  const absl::Status there = feed.After(heard, 0).status();
  if (absl::IsFailedPrecondition(there)) AlarmOfHistory("a tracker", heard, now);
  return there.ok();
}

}  // namespace

MissedChanges FindMissed(const placement::Feed& feed, Revision now, const std::string& host,
                         const std::vector<HelloNode>& nodes) {
  MissedChanges missed;
  std::vector<LastPush> ahead;  // the nodes that no batch has reached yet
  for (const HelloNode& node : nodes) {
    const bool is_known = node.pushed && IsInFeed(feed, now, *node.pushed);
    if (is_known) ahead.push_back({*node.pushed, node.id});
    if (!is_known) missed.scopes[node.id].complete = true;
  }
  if (ahead.empty()) return missed;
  std::sort(ahead.begin(), ahead.end(),
            [](const LastPush& a, const LastPush& b) { return a.revision > b.revision; });
  const auto batches = feed.After(ahead.back().revision, kBatchesMax);
  if (!batches.ok()) {  // the feed has dropped its oldest batches meanwhile
    for (const LastPush& lost : ahead) missed.scopes[lost.node].complete = true;
    return missed;
  }
  PushScopes open;  // the nodes whose trackers missed the present batch
  for (const FeedBatchPtr& batch : *batches) {
    for (; !ahead.empty() && ahead.back().revision < batch->revision; ahead.pop_back()) {
      open.try_emplace(ahead.back().node);
    }
    for (const placement::FeedCommand& command : batch->commands) {
      AddNews(command, host, false, &open);
      ++missed.commands;
    }
  }
  missed.scopes.merge(open);
  return missed;
}

}  // namespace berth::services
