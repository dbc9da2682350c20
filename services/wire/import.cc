#include "services/wire/import.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/commands/record_fault.h"
#include "services/wire/catalog.h"
#include "services/wire/fleet.h"
#include "services/wire/instance.h"
#include "services/wire/inventory.h"

namespace berth::services {

using google::protobuf::Timestamp;
using placement::ProviderId;

namespace {

constexpr char kNoType[] = "unknown";  // the type of a consumer without a type (P-24)

// Converts a time to whole microseconds, rounded to the past, as the ledger stores times.
absl::StatusOr<absl::Time> WholeMicroseconds(absl::string_view field, const Timestamp& from) {
  BERTH_ASSIGN_OR_RETURN(const absl::Time time, TimeOf(field, from));
  return absl::FromUnixMicros(absl::ToUnixMicros(time));
}

template <typename Entity>
absl::Status ReadTimes(const Entity& from, placement::ImportedTimes* to) {
  const auto read = [](absl::string_view field, bool given, const Timestamp& time,
                       std::optional<absl::Time>* into) {
    if (!given) return absl::OkStatus();
    BERTH_ASSIGN_OR_RETURN(*into, WholeMicroseconds(field, time));
    return absl::OkStatus();
  };
  BERTH_RETURN_IF_ERROR(
      read("created_at", from.has_created_at(), from.created_at(), &to->created_at));
  return read("updated_at", from.has_updated_at(), from.updated_at(), &to->updated_at);
}

constexpr char kOrder[] =
    ": the order is classes and traits, providers, consumers, services, nodes, aggregates, server "
    "groups, instances, migrations";

// Returns the rank of `kind` in the fixed order of kinds in an export; 0 if entities of this kind
// cannot be imported.
int RankOf(pb::Entity::EntityCase kind) {
  switch (kind) {
    case pb::Entity::kResourceClass:
    case pb::Entity::kTrait:
      return 1;
    case pb::Entity::kProvider:
      return 2;
    case pb::Entity::kConsumer:
      return 3;
    case pb::Entity::kService:
      return 4;
    case pb::Entity::kNode:
      return 5;
    case pb::Entity::kAggregate:
      return 6;
    case pb::Entity::kServerGroup:
      return 7;
    case pb::Entity::kInstance:
      return 8;
    case pb::Entity::kMigration:
      return 9;
    case pb::Entity::kProviderUsage:
    case pb::Entity::ENTITY_NOT_SET:
      break;
  }
  return 0;
}

// Such as "provider".
std::string KindName(pb::Entity::EntityCase kind) {
  return pb::Entity::descriptor()->FindFieldByNumber(kind)->name();
}

// Returns the account that the node's tracker reported, in the form in which the ledger stores it:
// the bytes of a Node with those fields that services/report/messages.cc sets.
std::string AccountOf(const pb::Node& node) {
  pb::Node account;
  if (node.has_account()) *account.mutable_account() = node.account();
  if (node.has_observation()) *account.mutable_observation() = node.observation();
  *account.mutable_orphans() = node.orphans();
  *account.mutable_findings() = node.findings();
  if (node.has_audit()) *account.mutable_audit() = node.audit();
  return account.SerializeAsString();
}

}  // namespace

absl::Status ImportRecords::Add(const pb::Entity& entity) {
  ++count_;
  absl::Status status = CheckText(entity);
  if (status.ok()) status = Convert(entity);
  return status.ok() ? status : placement::AtRecord(count_, status);
}

absl::Status ImportRecords::Convert(const pb::Entity& entity) {
  const pb::Entity::EntityCase kind = entity.entity_case();
  if (RankOf(kind) == 0) return InvalidField("entity", "has a kind that cannot be imported");
  if (RankOf(kind) < RankOf(last_)) {
    return InvalidField(
        "entity", absl::StrCat("is of kind ", KindName(kind), ", but comes after one of kind ",
                               KindName(last_), kOrder));
  }
  last_ = kind;
  switch (kind) {
    case pb::Entity::kResourceClass:
      command_.classes.push_back({count_, entity.resource_class().name()});
      return absl::OkStatus();
    case pb::Entity::kTrait:
      command_.traits.push_back({count_, entity.trait().name()});
      return absl::OkStatus();
    case pb::Entity::kProvider:
      return AddProvider(entity.provider());
    case pb::Entity::kConsumer:
      return AddConsumer(entity.consumer());
    case pb::Entity::kService:
      return AddService(entity.service());
    case pb::Entity::kNode:
      return AddNode(entity.node());
    case pb::Entity::kAggregate:
      return AddAggregate(entity.aggregate());
    case pb::Entity::kServerGroup:
      return AddServerGroup(entity.server_group());
    case pb::Entity::kInstance:
      return AddInstance(entity.instance());
    case pb::Entity::kMigration:
      return AddMigration(entity.migration());
    case pb::Entity::kProviderUsage:
    case pb::Entity::ENTITY_NOT_SET:
      break;  // their rank is 0
  }
  return absl::OkStatus();
}

absl::Status ImportRecords::AddProvider(const pb::Provider& from) {
  placement::ImportedProvider provider;
  provider.record = count_;
  BERTH_ASSIGN_OR_RETURN(provider.id, ParseId<ProviderId>("provider.uuid", from.uuid()));
  provider.name = from.name();
  if (!from.parent_uuid().empty()) {
    BERTH_ASSIGN_OR_RETURN(provider.parent,
                           ParseId<ProviderId>("provider.parent_uuid", from.parent_uuid()));
  }
  provider.inventories = NamedInventoriesOf(from.inventories());
  provider.traits = TextsOf(from.traits());
  BERTH_ASSIGN_OR_RETURN(
      provider.aggregates,
      ParseIds<placement::AggregateId>("provider.aggregate_uuids", from.aggregate_uuids()));
  BERTH_RETURN_IF_ERROR(ReadTimes(from, &provider.times));
  command_.providers.push_back(std::move(provider));
  return absl::OkStatus();
}

absl::Status ImportRecords::AddConsumer(const pb::Consumer& from) {
  placement::ImportedConsumer consumer;
  consumer.record = count_;
  BERTH_ASSIGN_OR_RETURN(consumer.id, ParseId<placement::ConsumerId>("consumer.uuid", from.uuid()));
  consumer.project = from.project_id();
  consumer.user = from.user_id();
  if (from.consumer_type() != kNoType) consumer.type = from.consumer_type();
  for (const pb::ProviderAllocation& allocation : from.allocations()) {
    BERTH_ASSIGN_OR_RETURN(
        const auto provider,
        ParseId<ProviderId>("consumer.allocations.provider_uuid", allocation.provider_uuid()));
    placement::ProviderAmounts& amounts = consumer.allocations.emplace_back();
    amounts.provider = provider;
    for (const auto* entry : SortedEntries(allocation.resources())) {
      amounts.amounts.push_back({entry->first, entry->second});
    }
  }
  if (from.has_lease_expires_at()) {
    BERTH_ASSIGN_OR_RETURN(consumer.lease_expires_at,
                           WholeMicroseconds("consumer.lease_expires_at", from.lease_expires_at()));
  }
  BERTH_RETURN_IF_ERROR(ReadTimes(from, &consumer.times));
  command_.consumers.push_back(std::move(consumer));
  return absl::OkStatus();
}

// An imported service is down until its tracker opens a stream to this placement.
absl::Status ImportRecords::AddService(const pb::Service& from) {
  placement::ImportedService service;
  service.record = count_;
  const auto id = placement::Uuid::Parse(from.uuid());
  if (!id) {
    return InvalidField("service.uuid", from.uuid().empty() ? "is required" : "is not a uuid");
  }
  service.service.id = *id;
  if (!from.incarnation().empty()) {
    const auto incarnation = placement::Uuid::Parse(from.incarnation());
    if (!incarnation) return InvalidField("service.incarnation", "is not a uuid");
    service.service.incarnation = *incarnation;
  }
  service.service.host = from.host();
  service.service.binary = from.binary();
  service.service.version = from.version();
  service.service.zone = from.zone();
  service.service.disabled = from.disabled();
  service.service.disabled_reason = from.disabled_reason();
  service.service.forced_down = from.forced_down();
  BERTH_RETURN_IF_ERROR(ReadTimes(from, &service.times));
  command_.services.push_back(std::move(service));
  return absl::OkStatus();
}

// An imported node gets no incarnation and no digest. So its tracker will send a full report.
absl::Status ImportRecords::AddNode(pb::Node from) {
  BERTH_RETURN_IF_ERROR(MakeUuidsCanonical("node", &from));
  placement::ImportedNode node;
  node.record = count_;
  BERTH_ASSIGN_OR_RETURN(node.node.id, ParseId<ProviderId>("node.uuid", from.uuid()));
  node.node.name = from.name();
  node.node.host = from.host();
  node.node.retired = from.retired();
  node.node.report_sequence = from.sequence();
  if (from.has_facts()) node.node.facts = FactsBytes(from.facts());
  node.node.account = AccountOf(from);
  SetTotals(from.facts(), &node.node.sums);
  SetUses(from.account(), &node.node.sums);
  BERTH_RETURN_IF_ERROR(ReadTimes(from, &node.times));
  command_.nodes.push_back(std::move(node));
  return absl::OkStatus();
}

absl::Status ImportRecords::AddAggregate(const pb::Aggregate& from) {
  placement::ImportedAggregate aggregate;
  aggregate.record = count_;
  BERTH_ASSIGN_OR_RETURN(aggregate.aggregate, AggregateOf("aggregate", from));
  BERTH_RETURN_IF_ERROR(ReadTimes(from, &aggregate.times));
  command_.aggregates.push_back(std::move(aggregate));
  return absl::OkStatus();
}

absl::Status ImportRecords::AddServerGroup(const pb::ServerGroup& from) {
  placement::ImportedServerGroup group;
  group.record = count_;
  BERTH_ASSIGN_OR_RETURN(group.group, ServerGroupOf("server_group", from));
  BERTH_RETURN_IF_ERROR(ReadTimes(from, &group.times));
  command_.groups.push_back(std::move(group));
  return absl::OkStatus();
}

absl::Status ImportRecords::AddInstance(const pb::Instance& from) {
  BERTH_ASSIGN_OR_RETURN(auto record, InstanceOf("instance", from));
  placement::ImportedInstance instance;
  instance.record = count_;
  instance.instance = std::move(record);
  if (from.has_deleted_at()) {
    BERTH_ASSIGN_OR_RETURN(instance.instance.deleted_at,
                           WholeMicroseconds("instance.deleted_at", from.deleted_at()));
  }
  BERTH_RETURN_IF_ERROR(ReadTimes(from, &instance.times));
  command_.instances.push_back(std::move(instance));
  return absl::OkStatus();
}

absl::Status ImportRecords::AddMigration(const pb::Migration& from) {
  BERTH_ASSIGN_OR_RETURN(auto record, MigrationOf(from));
  placement::ImportedMigration migration;
  migration.record = count_;
  migration.migration = std::move(record);
  BERTH_RETURN_IF_ERROR(ReadTimes(from, &migration.times));
  command_.migrations.push_back(std::move(migration));
  return absl::OkStatus();
}

void FillImportLedger(const WriteAnswer& answer, pb::ImportLedgerResponse* response) {
  response->set_entity_count(answer.decision.result.imported);
  FillOvercommits(answer.decision.result.over_capacity, response->mutable_overcommitted());
}

}  // namespace berth::services
