#include "services/report/record_push.h"

#include <algorithm>
#include <optional>

#include "placement/values/migration_status.h"

namespace berth::services {

using placement::InstanceId;
using placement::InstancePtr;
using placement::MigrationId;
using placement::MigrationPtr;
using placement::MigrationRecord;
using placement::ProviderId;
using placement::Records;

namespace {

bool IsAt(const TrackedNode& node, const std::string& host, const std::optional<ProviderId>& id) {
  return host == node.host && (!id || *id == node.id);
}

bool Concerns(const MigrationRecord& migration, const TrackedNode& node) {
  const bool moves = placement::HoldsResources(migration.status);
  if (!moves && !placement::LeavesGuest(migration)) return false;
  return IsAt(node, migration.source_host, migration.source_node) ||
         (moves && IsAt(node, migration.destination_host, migration.destination_node));
}

}  // namespace

void AddRecord(const placement::Change& change, PushScope* scope) {
  using namespace placement;  // NOLINT: all kinds of changes
  const EachKind add{
      [scope](const InstancePut& put) { scope->instances.insert(put.instance->id); },
      [scope](const InstanceRemoved& removed) { scope->instances.insert(removed.id); },
      [scope](const MigrationPut& put) {
        scope->migrations.insert(put.migration->id);
        scope->instances.insert(put.migration->instance);
      },
      // A migration is removed only together with its instance.
      [scope](const MigrationRemoved& removed) { scope->migrations.insert(removed.id); },
      Ignore<ProviderPut, ProviderRemoved, ProviderUsed, ConsumerPut, ConsumerRemoved>(),
      Ignore<ServicePut, ServiceRemoved, NodePut, NodeRemoved>(),
      Ignore<AggregatePut, AggregateRemoved, ServerGroupPut, ServerGroupRemoved>(),
      Ignore<ClassPut, ClassRemoved, TraitPut, TraitRemoved, FormatRaised>()};
  std::visit(add, change);
}

void NameRecords(const Records& records, const std::string& host, PushScope* scope) {
  for (const auto& instance : records.InstancesOf(host)) scope->instances.insert(instance->id);
  for (const auto& migration : records.MigrationsOf(host)) {
    if (!placement::HoldsResources(migration->status) && !placement::LeavesGuest(*migration)) {
      continue;
    }
    scope->migrations.insert(migration->id);
    scope->instances.insert(migration->instance);
  }
}

InstancePtr FindFor(const TrackedNode& node, const Records& records, InstanceId id) {
  InstancePtr instance = records.FindInstance(id);
  if (instance == nullptr || IsAt(node, instance->host, instance->node)) return instance;
  const auto moves = records.MigrationsOf(id);
  const bool concerns = std::any_of(moves.begin(), moves.end(), [&](const auto& migration) {
    return Concerns(*migration, node);
  });
  return concerns ? instance : nullptr;
}

MigrationPtr FindFor(const TrackedNode& node, const Records& records, MigrationId id) {
  MigrationPtr migration = records.FindMigration(id);
  return migration != nullptr && Concerns(*migration, node) ? migration : nullptr;
}

}  // namespace berth::services
