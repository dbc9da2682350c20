#include "placement/log/concerned.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace berth::placement {
namespace {

// Stands for no change, and comes before the position of each.
constexpr int32_t kRenewed = -1;

template <typename Pairs>
void SortOnce(Pairs* pairs) {
  std::sort(pairs->begin(), pairs->end());
  pairs->erase(std::unique(pairs->begin(), pairs->end()), pairs->end());
}

// Collects whom each change concerns.
class Collector {
 public:
  explicit Collector(const Scope& scope) : scope_(scope) {
    for (const HostNews& other : scope.other_hosts) {
      for (const int32_t at : other.changes) hosts_.emplace_back(other.host, at);
    }
    for (const ProviderId node : scope.renewed) nodes_.emplace_back(node, kRenewed);
  }

  // Adds the change at the position `at`. It must live until Hosts has been called.
  void Add(const Change& change, int32_t at) {
    const EachKind add{
        [&](const ProviderPut& put) { AddProvider(put.config->id, at); },
        [&](const ProviderRemoved& removed) { AddProvider(removed.id, at); },
        Ignore<ProviderUsed>(),  // follows from the consumers
        [&](const ConsumerPut& put) {
          for (const Allocation& row : put.consumer->allocations) AddProvider(row.provider, at);
          AddGivenUp(put.consumer->id, at);
        },
        [&](const ConsumerRemoved& removed) { AddGivenUp(removed.id, at); },
        [&](const ServicePut& put) { hosts_.emplace_back(put.service->host, at); },
        [&](const ServiceRemoved& removed) { hosts_.emplace_back(removed.host, at); },
        [&](const NodePut& put) { hosts_.emplace_back(put.node->host, at); },
        [&](const InstancePut& put) {
          if (!put.instance->host.empty()) hosts_.emplace_back(put.instance->host, at);
        },
        [&](const MigrationPut& put) {
          const MigrationRecord& migration = *put.migration;
          hosts_.emplace_back(migration.source_host, at);
          const std::string& destination = migration.destination_host;
          if (!destination.empty()) hosts_.emplace_back(destination, at);
        },
        Ignore<AggregatePut, AggregateRemoved>(),                  // no tracker knows their names,
        Ignore<ServerGroupPut, ServerGroupRemoved>(),              // nor groups
        Ignore<NodeRemoved, InstanceRemoved, MigrationRemoved>(),  // the scope names their hosts
        Ignore<ClassPut, ClassRemoved, TraitPut, TraitRemoved, FormatRaised>()};
    std::visit(add, change);
  }

  std::vector<HostNews> Hosts() {
    SortOnce(&hosts_);
    std::vector<HostNews> news;
    for (const auto& [host, at] : hosts_) {
      if (news.empty() || news.back().host != host) news.push_back({std::string(host), {}});
      news.back().changes.push_back(at);
    }
    return news;
  }

  std::vector<NodeNews> Nodes() {
    SortOnce(&nodes_);
    std::vector<NodeNews> news;
    for (const auto& [node, at] : nodes_) {
      if (news.empty() || news.back().node != node) news.emplace_back().node = node;
      if (at == kRenewed) {
        news.back().renewed = true;
      } else {
        news.back().changes.push_back(at);
      }
    }
    return news;
  }

 private:
  void AddProvider(ProviderId provider, int32_t at) {
    nodes_.emplace_back(scope_.NodeOf(provider), at);
  }
  // Adds the providers on which the consumer no longer holds anything.
  void AddGivenUp(ConsumerId consumer, int32_t at) {
    const auto found =
        std::lower_bound(scope_.gave_up.begin(), scope_.gave_up.end(), consumer,
                         [](const auto& entry, ConsumerId wanted) { return entry.first < wanted; });
    if (found == scope_.gave_up.end() || found->first != consumer) return;
    for (const ProviderId provider : found->second) AddProvider(provider, at);
  }

  const Scope& scope_;
  // Each with the position of a change that concerns it. An ordinary claim needs no heap for them.
  absl::InlinedVector<std::pair<absl::string_view, int32_t>, 4> hosts_;
  absl::InlinedVector<std::pair<ProviderId, int32_t>, 8> nodes_;
};

}  // namespace

const HostNews* Concerned::Find(absl::string_view host) const {
  const auto found = std::lower_bound(
      hosts.begin(), hosts.end(), host,
      [](const HostNews& news, absl::string_view wanted) { return news.host < wanted; });
  return found != hosts.end() && found->host == host ? &*found : nullptr;
}

const NodeNews* Concerned::Find(ProviderId node) const {
  const auto found =
      std::lower_bound(nodes.begin(), nodes.end(), node,
                       [](const NodeNews& news, ProviderId wanted) { return news.node < wanted; });
  return found != nodes.end() && found->node == node ? &*found : nullptr;
}

Concerned ConcernedBy(const Changes& changes, const Scope& scope) {
  Collector collector(scope);
  int32_t at = 0;
  for (const Change& change : changes) collector.Add(change, at++);
  return {collector.Hosts(), collector.Nodes()};
}

}  // namespace berth::placement
