#include "placement/log/change_bytes.h"

#include <memory>
#include <utility>
#include <variant>

namespace berth::placement {
namespace {

// The bytes that std::make_shared adds to the value: two counters and a pointer to a function
// table.
constexpr size_t kSharedBytes = 16;
// The bytes that std::map adds to an entry: three pointers and a colour.
constexpr size_t kMapNodeBytes = 32;

template <typename T>
size_t SharedBlock(const std::shared_ptr<const T>& value) {
  return value == nullptr ? 0 : BlockBytes(sizeof(T) + kSharedBytes);
}

size_t BytesOf(const HeldPtr& held) {
  if (held == nullptr) return 0;
  const size_t bytes = SharedBlock(held) + BlockBytes(held->own.text());
  const auto& context = held->context;
  if (context == nullptr) return bytes;
  return bytes + SharedBlock(context) + BlockBytes(context->before.text()) +
         BlockBytes(context->after.text());
}

// Counts the bytes of a change, with one method for each kind of change. A kind that is added later
// does not compile until it has a method here.
struct Counter {
  size_t operator()(const ProviderPut& put) const {
    const ProviderConfig& config = *put.config;
    return SharedBlock(put.config) + BlockBytes(config.name) + BlockBytes(config.inventories) +
           BlockBytes(config.traits) + BlockBytes(config.aggregates);
  }
  size_t operator()(const ProviderRemoved&) const { return 0; }
  size_t operator()(const ProviderUsed& used) const { return BlockBytes(used.used); }
  size_t operator()(const ConsumerPut& put) const {
    const Consumer& consumer = *put.consumer;
    size_t bytes = SharedBlock(put.consumer) + BlockBytes(consumer.allocations);
    if (consumer.owner.use_count() > 1) return bytes;
    const Owner& owner = *consumer.owner;
    bytes += SharedBlock(consumer.owner) + BlockBytes(owner.project);
    return bytes + BlockBytes(owner.user) + BlockBytes(owner.type);
  }
  size_t operator()(const ConsumerRemoved&) const { return 0; }
  size_t operator()(const ClassPut& put) const { return BlockBytes(put.name); }
  size_t operator()(const ClassRemoved&) const { return 0; }
  size_t operator()(const TraitPut& put) const { return BlockBytes(put.name); }
  size_t operator()(const TraitRemoved&) const { return 0; }
  size_t operator()(const ServicePut& put) const {
    const ServiceRecord& service = *put.service;
    return SharedBlock(put.service) + BlockBytes(service.host) + BlockBytes(service.binary) +
           BlockBytes(service.machine_id) + BlockBytes(service.version) +
           BlockBytes(service.disabled_reason) + BlockBytes(service.zone);
  }
  size_t operator()(const ServiceRemoved& removed) const {
    return BlockBytes(removed.host) + BlockBytes(removed.binary);
  }
  size_t operator()(const NodePut& put) const {
    const NodeRecord& node = *put.node;
    size_t bytes = SharedBlock(put.node) + BlockBytes(node.name) + BlockBytes(node.host) +
                   BlockBytes(node.digest) + BlockBytes(node.account) + BlockBytes(node.reported) +
                   BlockBytes(node.sums.storage_id) + SharedBlock(node.facts);
    if (node.facts != nullptr) bytes += BlockBytes(*node.facts);
    return bytes;
  }
  size_t operator()(const NodeRemoved&) const { return 0; }
  size_t operator()(const AggregatePut& put) const {
    const Aggregate& aggregate = *put.aggregate;
    size_t bytes = SharedBlock(put.aggregate) + BlockBytes(aggregate.name);
    for (const auto& entry : aggregate.metadata) {
      bytes += BlockBytes(sizeof(entry) + kMapNodeBytes) + BlockBytes(entry.first) +
               BlockBytes(entry.second);
    }
    return bytes;
  }
  size_t operator()(const AggregateRemoved&) const { return 0; }
  size_t operator()(const ServerGroupPut& put) const {
    const ServerGroup& group = *put.group;
    return SharedBlock(put.group) + BlockBytes(group.name) + BlockBytes(group.project) +
           BlockBytes(group.user);
  }
  size_t operator()(const ServerGroupRemoved&) const { return 0; }
  size_t operator()(const InstancePut& put) const {
    const InstanceRecord& instance = *put.instance;
    return SharedBlock(put.instance) + BlockBytes(instance.name) + BlockBytes(instance.project) +
           BlockBytes(instance.user) + BlockBytes(instance.host) + BlockBytes(instance.vm_state) +
           BlockBytes(instance.task_state) + BlockBytes(instance.flavor_id) +
           BytesOf(instance.held) + BlockBytes(instance.body);
  }
  size_t operator()(const InstanceRemoved&) const { return 0; }
  size_t operator()(const MigrationPut& put) const {
    const MigrationRecord& migration = *put.migration;
    return SharedBlock(put.migration) + BlockBytes(migration.status) +
           BlockBytes(migration.source_host) + BlockBytes(migration.destination_host) +
           BlockBytes(migration.old_flavor_id) + BlockBytes(migration.new_flavor_id) +
           BlockBytes(migration.body);
  }
  size_t operator()(const MigrationRemoved&) const { return 0; }
  size_t operator()(const FormatRaised&) const { return 0; }
};

size_t BytesOf(const std::vector<HostNews>& hosts) {
  size_t bytes = BlockBytes(hosts);
  for (const HostNews& news : hosts) bytes += BlockBytes(news.host) + BlockBytes(news.changes);
  return bytes;
}

size_t BytesOf(const TreeFacts& facts) {
  size_t bytes = BlockBytes(facts.roots) + BlockBytes(facts.aggregates);
  for (const auto& [root, aggregates] : facts.aggregates) bytes += BlockBytes(aggregates);
  return bytes;
}

}  // namespace

size_t BytesOf(const Changes& changes) {
  size_t bytes = BlockBytes(changes);
  for (const Change& change : changes) bytes += std::visit(Counter(), change);
  return bytes;
}

size_t BytesOf(const Scope& scope) {
  size_t bytes = BytesOf(scope.after) + BytesOf(scope.before) + BlockBytes(scope.gave_up) +
                 BytesOf(scope.derived) + BytesOf(scope.neighbours) +
                 BlockBytes(scope.removed_keys) + BytesOf(scope.other_hosts) +
                 BlockBytes(scope.nodes) + BlockBytes(scope.renewed);
  for (const auto& [consumer, providers] : scope.gave_up) bytes += BlockBytes(providers);
  for (const std::string& key : scope.removed_keys) bytes += BlockBytes(key);
  return bytes;
}

size_t BytesOf(const Concerned& concerned) {
  size_t bytes = BytesOf(concerned.hosts) + BlockBytes(concerned.nodes);
  for (const NodeNews& news : concerned.nodes) bytes += BlockBytes(news.changes);
  return bytes;
}

}  // namespace berth::placement
