#include "placement/log/messages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "placement/log/node_messages.h"
#include "placement/log/record_changes.h"
#include "placement/records/aggregate_message.h"
#include "placement/records/group_message.h"
#include "placement/records/message.h"

namespace berth::placement {
namespace {

namespace pb = ledger::v1;

struct Encoder {
  pb::Change* out;

  void operator()(const ProviderPut& put) const {
    EncodeProvider(*put.config, out->mutable_provider_put());
  }
  void operator()(const ProviderRemoved& removed) const {
    EncodeId(removed.id.uuid, out->mutable_provider_removed());
  }
  void operator()(const ProviderUsed& used) const {
    pb::ProviderUse* use = out->mutable_provider_used();
    EncodeId(used.id.uuid, use->mutable_id());
    use->set_allocation_generation(used.allocation_generation.value);
    for (const ClassAmount& amount : used.used) {
      use->add_classes(static_cast<uint32_t>(amount.resource_class));
      use->add_amounts(amount.amount);
    }
  }
  void operator()(const ConsumerPut& put) const {
    const Consumer& consumer = *put.consumer;
    pb::Consumer* message = out->mutable_consumer_put();
    EncodeId(consumer.id.uuid, message->mutable_id());
    message->set_generation(consumer.generation.value);
    message->set_project(consumer.owner->project);
    message->set_user(consumer.owner->user);
    message->set_type(consumer.owner->type);
    for (const Allocation& allocation : consumer.allocations) {
      EncodeHalves(allocation.provider.uuid, message->mutable_providers());
      message->add_classes(static_cast<uint32_t>(allocation.resource_class));
      message->add_amounts(allocation.amount);
    }
    message->set_created_at_us(absl::ToUnixMicros(consumer.created_at));
    message->set_updated_at_us(absl::ToUnixMicros(consumer.updated_at));
    if (consumer.lease_expires_at) {
      message->set_lease_expires_at_us(absl::ToUnixMicros(*consumer.lease_expires_at));
    }
  }
  void operator()(const ConsumerRemoved& removed) const {
    EncodeId(removed.id.uuid, out->mutable_consumer_removed());
  }
  void operator()(const ClassPut& put) const {
    out->mutable_class_put()->set_id(static_cast<uint32_t>(put.id));
    out->mutable_class_put()->set_name(put.name);
  }
  void operator()(const ClassRemoved& removed) const {
    out->set_class_removed(static_cast<uint32_t>(removed.id));
  }
  void operator()(const TraitPut& put) const {
    out->mutable_trait_put()->set_id(static_cast<uint32_t>(put.id));
    out->mutable_trait_put()->set_name(put.name);
  }
  void operator()(const TraitRemoved& removed) const {
    out->set_trait_removed(static_cast<uint32_t>(removed.id));
  }
  void operator()(const ServicePut& put) const {
    const ServiceRecord& service = *put.service;
    pb::Service* message = out->mutable_service_put();
    message->mutable_key()->set_host(service.host);
    message->mutable_key()->set_binary(service.binary);
    EncodeId(service.id, message->mutable_id());
    EncodeId(service.incarnation, message->mutable_incarnation());
    message->set_machine_id(service.machine_id);
    message->set_version(service.version);
    message->set_zone(service.zone);
    message->set_up(service.up);
    message->set_disabled(service.disabled);
    message->set_disabled_reason(service.disabled_reason);
    message->set_forced_down(service.forced_down);
    message->set_created_at_us(absl::ToUnixMicros(service.created_at));
    message->set_updated_at_us(absl::ToUnixMicros(service.updated_at));
  }
  void operator()(const ServiceRemoved& removed) const {
    out->mutable_service_removed()->set_host(removed.host);
    out->mutable_service_removed()->set_binary(removed.binary);
  }
  void operator()(const NodePut& put) const { EncodeNode(*put.node, out->mutable_node_put()); }
  void operator()(const NodeRemoved& removed) const {
    EncodeId(removed.id.uuid, out->mutable_node_removed());
  }
  void operator()(const AggregatePut& put) const {
    out->set_aggregate_put(StoredBytes(*put.aggregate));
  }
  void operator()(const AggregateRemoved& removed) const {
    EncodeId(removed.id.uuid, out->mutable_aggregate_removed());
  }
  void operator()(const ServerGroupPut& put) const {
    out->set_server_group_put(StoredBytes(*put.group));
  }
  void operator()(const ServerGroupRemoved& removed) const {
    EncodeId(removed.id.uuid, out->mutable_server_group_removed());
  }
  void operator()(const InstancePut& put) const {
    out->set_instance_put(StoredBytes(*put.instance));
  }
  void operator()(const InstanceRemoved& removed) const {
    EncodeId(removed.id.uuid, out->mutable_instance_removed());
  }
  void operator()(const MigrationPut& put) const {
    out->set_migration_put(StoredBytes(*put.migration));
  }
  void operator()(const MigrationRemoved& removed) const {
    EncodeId(removed.id.uuid, out->mutable_migration_removed());
  }
  void operator()(const FormatRaised& raised) const { out->set_format_raised(raised.format); }
};

ProviderUsed DecodeUse(const pb::ProviderUse& in) {
  ProviderUsed used{ProviderId{DecodeId(in.id())}, Generation{in.allocation_generation()}, {}};
  for (int i = 0; i < in.classes_size() && i < in.amounts_size(); ++i) {
    used.used.push_back({ClassId{in.classes(i)}, in.amounts(i)});
  }
  return used;
}

ConsumerPtr DecodeConsumer(const pb::Consumer& in) {
  auto consumer = std::make_shared<Consumer>();
  consumer->id = ConsumerId{DecodeId(in.id())};
  consumer->generation = Generation{in.generation()};
  consumer->owner = std::make_shared<const Owner>(Owner{in.project(), in.user(), in.type()});
  const int rows = std::min({in.providers_size() / 2, in.classes_size(), in.amounts_size()});
  for (int i = 0; i < rows; ++i) {
    consumer->allocations.push_back(
        {ProviderId{DecodeHalves(in.providers(), i)}, ClassId{in.classes(i)}, in.amounts(i)});
  }
  consumer->created_at = absl::FromUnixMicros(in.created_at_us());
  consumer->updated_at = absl::FromUnixMicros(in.updated_at_us());
  if (in.has_lease_expires_at_us()) {
    consumer->lease_expires_at = absl::FromUnixMicros(in.lease_expires_at_us());
  }
  return consumer;
}

std::shared_ptr<const ServiceRecord> DecodeService(const pb::Service& in) {
  auto service = std::make_shared<ServiceRecord>();
  service->host = in.key().host();
  service->binary = in.key().binary();
  service->id = DecodeId(in.id());
  service->incarnation = DecodeId(in.incarnation());
  service->machine_id = in.machine_id();
  service->version = in.version();
  service->zone = in.zone();
  service->up = in.up();
  service->disabled = in.disabled();
  service->disabled_reason = in.disabled_reason();
  service->forced_down = in.forced_down();
  service->created_at = absl::FromUnixMicros(in.created_at_us());
  service->updated_at = absl::FromUnixMicros(in.updated_at_us());
  return service;
}

}  // namespace

void EncodeProvider(const ProviderConfig& config, pb::Provider* out) {
  EncodeId(config.id.uuid, out->mutable_id());
  out->set_name(config.name);
  if (config.parent) EncodeId(config.parent->uuid, out->mutable_parent());
  out->set_generation(config.generation.value);
  for (const InventoryRow& row : config.inventories) {
    pb::Inventory* inventory = out->add_inventories();
    inventory->set_class_(static_cast<uint32_t>(row.resource_class));
    inventory->set_total(row.inventory.total);
    inventory->set_reserved(row.inventory.reserved);
    inventory->set_min_unit(row.inventory.min_unit);
    inventory->set_max_unit(row.inventory.max_unit);
    inventory->set_step_size(row.inventory.step_size);
    inventory->set_allocation_ratio(row.inventory.allocation_ratio);
    inventory->set_capacity(row.capacity);
  }
  for (const TraitId trait : config.traits) out->add_traits(static_cast<uint32_t>(trait));
  for (const AggregateId& aggregate : config.aggregates) {
    EncodeHalves(aggregate.uuid, out->mutable_aggregates());
  }
  out->set_created_at_us(absl::ToUnixMicros(config.created_at));
  out->set_updated_at_us(absl::ToUnixMicros(config.updated_at));
}

std::shared_ptr<const ProviderConfig> DecodeProvider(const pb::Provider& in) {
  auto config = std::make_shared<ProviderConfig>();
  config->id = ProviderId{DecodeId(in.id())};
  config->name = in.name();
  if (in.has_parent()) config->parent = ProviderId{DecodeId(in.parent())};
  config->generation = Generation{in.generation()};
  for (const pb::Inventory& row : in.inventories()) {
    config->inventories.push_back({ClassId{row.class_()},
                                   {row.total(), row.reserved(), row.min_unit(), row.max_unit(),
                                    row.step_size(), row.allocation_ratio()},
                                   row.capacity()});
  }
  for (const uint32_t trait : in.traits()) config->traits.push_back(TraitId{trait});
  for (int i = 0; 2 * i + 1 < in.aggregates_size(); ++i) {
    config->aggregates.push_back(AggregateId{DecodeHalves(in.aggregates(), i)});
  }
  config->created_at = absl::FromUnixMicros(in.created_at_us());
  config->updated_at = absl::FromUnixMicros(in.updated_at_us());
  return config;
}

void EncodeChange(const Change& change, pb::Change* out) { std::visit(Encoder{out}, change); }

namespace {

// The change in `in`, which must be a change of a class or of a trait.
Change NameChangeOf(const pb::Change& in) {
  if (in.has_class_put()) return ClassPut{ClassId{in.class_put().id()}, in.class_put().name()};
  if (in.has_trait_put()) return TraitPut{TraitId{in.trait_put().id()}, in.trait_put().name()};
  if (in.kind_case() == pb::Change::kClassRemoved) {
    return ClassRemoved{ClassId{in.class_removed()}};
  }
  return TraitRemoved{TraitId{in.trait_removed()}};
}

// The change in `in`, which must be a change of a service or of a node.
Change FleetChangeOf(const pb::Change& in) {
  if (in.has_service_put()) return ServicePut{DecodeService(in.service_put())};
  if (in.has_node_put()) return NodePut{DecodeNode(in.node_put())};
  if (in.has_node_removed()) return NodeRemoved{ProviderId{DecodeId(in.node_removed())}};
  return ServiceRemoved{in.service_removed().host(), in.service_removed().binary()};
}

// The change in `in`; none if `in` contains no kind of change that this release knows, or a record
// that cannot be read.
std::optional<Change> ChangeOf(const pb::Change& in) {
  switch (in.kind_case()) {
    case pb::Change::kProviderPut:
      return ProviderPut{DecodeProvider(in.provider_put())};
    case pb::Change::kProviderRemoved:
      return ProviderRemoved{ProviderId{DecodeId(in.provider_removed())}};
    case pb::Change::kProviderUsed:
      return DecodeUse(in.provider_used());
    case pb::Change::kConsumerPut:
      return ConsumerPut{DecodeConsumer(in.consumer_put())};
    case pb::Change::kConsumerRemoved:
      return ConsumerRemoved{ConsumerId{DecodeId(in.consumer_removed())}};
    case pb::Change::kClassPut:
    case pb::Change::kClassRemoved:
    case pb::Change::kTraitPut:
    case pb::Change::kTraitRemoved:
      return NameChangeOf(in);
    case pb::Change::kServicePut:
    case pb::Change::kServiceRemoved:
    case pb::Change::kNodePut:
    case pb::Change::kNodeRemoved:
      return FleetChangeOf(in);
    case pb::Change::kAggregatePut:
    case pb::Change::kAggregateRemoved:
    case pb::Change::kServerGroupPut:
    case pb::Change::kServerGroupRemoved:
    case pb::Change::kInstancePut:
    case pb::Change::kInstanceRemoved:
    case pb::Change::kMigrationPut:
    case pb::Change::kMigrationRemoved:
      return DecodeRecordChange(in);
    case pb::Change::kFormatRaised:
      return FormatRaised{in.format_raised()};
    case pb::Change::KIND_NOT_SET:
      break;
  }
  return std::nullopt;
}

}  // namespace

bool DecodeChange(const pb::Change& in, Changes* out) {
  std::optional<Change> change = ChangeOf(in);
  if (!change) return false;
  out->push_back(*std::move(change));
  return true;
}

namespace {

using Halves = google::protobuf::RepeatedField<uint64_t>;

int CountOf(const Halves& halves) { return halves.size() / 2; }

void EncodeFacts(const TreeFacts& facts, pb::TreeFacts* out) {
  for (const auto& [provider, root] : facts.roots) {
    EncodeHalves(provider.uuid, out->mutable_providers());
    EncodeHalves(root.uuid, out->mutable_roots());
  }
  for (const auto& [root, aggregates] : facts.aggregates) {
    pb::TreeAggregates* tree = out->add_trees();
    EncodeId(root.uuid, tree->mutable_root());
    for (const AggregateId& id : aggregates) EncodeHalves(id.uuid, tree->mutable_aggregates());
  }
}

TreeFacts DecodeFacts(const pb::TreeFacts& in) {
  TreeFacts facts;
  for (int i = 0; i < CountOf(in.providers()) && i < CountOf(in.roots()); ++i) {
    facts.roots.emplace_back(ProviderId{DecodeHalves(in.providers(), i)},
                             ProviderId{DecodeHalves(in.roots(), i)});
  }
  for (const pb::TreeAggregates& tree : in.trees()) {
    std::vector<AggregateId> aggregates;
    aggregates.reserve(CountOf(tree.aggregates()));
    for (int i = 0; i < CountOf(tree.aggregates()); ++i) {
      aggregates.push_back(AggregateId{DecodeHalves(tree.aggregates(), i)});
    }
    facts.aggregates.emplace_back(ProviderId{DecodeId(tree.root())}, std::move(aggregates));
  }
  return facts;
}

}  // namespace

void EncodeScope(const Scope& scope, pb::Scope* out) {
  if (scope.after != TreeFacts()) EncodeFacts(scope.after, out->mutable_after());
  if (scope.trees_changed) EncodeFacts(scope.before, out->mutable_before());
  for (const auto& [consumer, providers] : scope.gave_up) {
    pb::GaveUp* gave_up = out->add_gave_up();
    EncodeId(consumer.uuid, gave_up->mutable_consumer());
    for (const ProviderId& id : providers) EncodeHalves(id.uuid, gave_up->mutable_providers());
  }
  for (const Change& change : scope.derived) EncodeChange(change, out->add_derived());
  for (const Change& change : scope.neighbours) EncodeChange(change, out->add_neighbours());
  for (const std::string& key : scope.removed_keys) out->add_removed_keys(key);
  for (const HostNews& other : scope.other_hosts) {
    pb::OtherHost* host = out->add_other_hosts();
    host->set_host(other.host);
    for (const int32_t at : other.changes) host->add_changes(static_cast<uint32_t>(at));
  }
  for (const auto& [provider, node] : scope.nodes) {
    EncodeHalves(provider.uuid, out->mutable_members());
    EncodeHalves(node.uuid, out->mutable_nodes());
  }
  for (const ProviderId& node : scope.renewed) EncodeHalves(node.uuid, out->mutable_renewed());
}

bool DecodeScope(const pb::Scope& in, Scope* out) {
  out->after = DecodeFacts(in.after());
  out->trees_changed = in.has_before();
  if (in.has_before()) out->before = DecodeFacts(in.before());
  for (const pb::GaveUp& gave_up : in.gave_up()) {
    std::vector<ProviderId> providers;
    providers.reserve(CountOf(gave_up.providers()));
    for (int i = 0; i < CountOf(gave_up.providers()); ++i) {
      providers.push_back(ProviderId{DecodeHalves(gave_up.providers(), i)});
    }
    out->gave_up.emplace_back(ConsumerId{DecodeId(gave_up.consumer())}, std::move(providers));
  }
  for (const pb::Change& change : in.derived()) {
    if (!DecodeChange(change, &out->derived)) return false;
  }
  for (const pb::Change& change : in.neighbours()) {
    if (!DecodeChange(change, &out->neighbours)) return false;
  }
  out->removed_keys.assign(in.removed_keys().begin(), in.removed_keys().end());
  for (const pb::OtherHost& other : in.other_hosts()) {
    HostNews& host = out->other_hosts.emplace_back(HostNews{other.host(), {}});
    for (const uint32_t at : other.changes()) host.changes.push_back(static_cast<int32_t>(at));
  }
  for (int i = 0; i < CountOf(in.members()) && i < CountOf(in.nodes()); ++i) {
    out->nodes.emplace_back(ProviderId{DecodeHalves(in.members(), i)},
                            ProviderId{DecodeHalves(in.nodes(), i)});
  }
  for (int i = 0; i < CountOf(in.renewed()); ++i) {
    out->renewed.push_back(ProviderId{DecodeHalves(in.renewed(), i)});
  }
  return true;
}

}  // namespace berth::placement
