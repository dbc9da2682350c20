#include "services/report/push_news.h"

#include <algorithm>
#include <variant>

#include "services/log/history_alarm.h"
#include "services/report/record_push.h"

namespace berth::services {

using placement::FeedBatchPtr;
using placement::FeedCommand;
using placement::HostNews;
using placement::NodeNews;
using placement::ProviderId;
using placement::Revision;

namespace {

constexpr int kBatchesMax = 256;  // a tracker that missed so many is sent everything

void AddTreeChange(const placement::Change& change, bool is_own, PushScope* scope) {
  using namespace placement;  // NOLINT: all kinds of changes
  const EachKind add{
      [&](const ProviderPut& put) {
        if (!is_own) scope->providers.insert(put.config->id);
      },
      // Of its own report, too: the answer does not say which of the providers that the tracker no
      // longer wants were removed, and which stay because they are in use (T-202).
      [scope](const ProviderRemoved& removed) { scope->providers.insert(removed.id); },
      [scope](const ConsumerPut& put) { scope->consumers.insert(put.consumer->id); },
      [scope](const ConsumerRemoved& removed) { scope->consumers.insert(removed.id); },
      // These are no news of a node.
      Ignore<ProviderUsed, ServicePut, ServiceRemoved, NodePut, NodeRemoved>(),
      Ignore<AggregatePut, AggregateRemoved, ServerGroupPut, ServerGroupRemoved>(),
      Ignore<InstancePut, InstanceRemoved, MigrationPut, MigrationRemoved>(),
      Ignore<ClassPut, ClassRemoved, TraitPut, TraitRemoved, FormatRaised>()};
  std::visit(add, change);
}

int64_t AddTree(const FeedCommand& command, const NodeNews& news, bool is_own, PushScope* scope) {
  if (news.renewed) scope->complete = true;
  int64_t visits = 0;
  for (const int32_t at : news.changes) {
    if (scope->complete) break;
    ++visits;
    AddTreeChange((*command.changes)[at], is_own, scope);
    scope->Limit();
  }
  return visits;
}

// `news`: of the tracker's host.
int64_t AddRecords(const FeedCommand& command, const HostNews& news, PushScope* scope) {
  for (const int32_t at : news.changes) {
    const placement::Change& change = (*command.changes)[at];
    // The other kinds are no records. ReportSessions ends the stream of a removed service.
    if (std::holds_alternative<placement::ServicePut>(change)) scope->service = true;
    if (!scope->complete) AddRecord(change, scope);
    scope->Limit();
  }
  return static_cast<int64_t>(news.changes.size());
}

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

int64_t AddNews(const FeedCommand& command, const std::string& host, bool is_own,
                PushScopes* scopes) {
  int64_t visits = 0;
  const placement::Concerned& concerned = command.concerned;
  // Whichever is less is walked over: a command may concern all nodes of a fleet, and a tracker may
  // have many nodes.
  if (concerned.nodes.size() < scopes->size()) {
    for (const NodeNews& news : concerned.nodes) {
      const auto scope = scopes->find(news.node);
      if (scope != scopes->end()) visits += AddTree(command, news, is_own, &scope->second);
    }
  } else {
    for (auto& [node, scope] : *scopes) {
      const NodeNews* const news = concerned.Find(node);
      if (news != nullptr) visits += AddTree(command, *news, is_own, &scope);
    }
  }
  const HostNews* const news = concerned.Find(host);
  if (news == nullptr) return visits;
  for (auto& [node, scope] : *scopes) visits += AddRecords(command, *news, &scope);
  return visits;
}

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
