#include "services/report/push_news.h"

#include <variant>

#include "services/report/record_push.h"

namespace berth::services {

using placement::FeedCommand;
using placement::HostNews;
using placement::NodeNews;

namespace {

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

}  // namespace berth::services
