#include "services/report/record_push.h"

#include <algorithm>
#include <optional>
#include <set>

#include "placement/values/migration_status.h"
#include "services/wire/instance.h"

namespace berth::services {

using placement::InstanceId;
using placement::InstanceRecord;
using placement::MigrationId;
using placement::MigrationRecord;
using placement::ProviderId;
using placement::Records;

namespace {

// One node of a tracker.
struct Place {
  const std::string& host;
  ProviderId node;

  bool Has(const std::string& its_host, const std::optional<ProviderId>& its_node) const {
    return its_host == host && (!its_node || *its_node == node);
  }
};

bool Concerns(const MigrationRecord& migration, const Place& place) {
  return placement::HoldsResources(migration.status) &&
         (place.Has(migration.source_host, migration.source_node) ||
          place.Has(migration.destination_host, migration.destination_node));
}

bool Concerns(const Records& records, const InstanceRecord& instance, const Place& place) {
  if (place.Has(instance.host, instance.node)) return true;
  const auto migrations = records.MigrationsOf(instance.id);
  return std::any_of(migrations.begin(), migrations.end(),
                     [&](const auto& migration) { return Concerns(*migration, place); });
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
      Ignore<ClassPut, ClassRemoved, TraitPut, TraitRemoved, FormatRaised>()};
  std::visit(add, change);
}

void FillRecords(const placement::State& state, const std::string& host, ProviderId node,
                 const PushScope& scope, pb::Push* to) {
  const Records& records = state.records();
  const Place place{host, node};
  std::set<InstanceId> instances = scope.instances;
  std::set<MigrationId> migrations = scope.migrations;
  if (scope.complete) {
    for (const auto& instance : records.InstancesOf(host)) instances.insert(instance->id);
    for (const auto& migration : records.MovesOf(host)) {
      migrations.insert(migration->id);
      instances.insert(migration->instance);
    }
  }
  for (const InstanceId id : instances) {
    const auto instance = records.FindInstance(id);
    if (instance != nullptr && Concerns(records, *instance, place)) {
      FillInstance(*instance, to->add_instances());
    } else if (!scope.complete) {
      to->add_removed_instance_uuids(id.ToString());
    }
  }
  for (const MigrationId id : migrations) {
    const auto migration = records.FindMigration(id);
    if (migration != nullptr && Concerns(*migration, place)) {
      FillMigration(*migration, to->add_migrations());
    } else if (!scope.complete) {
      to->add_removed_migration_uuids(id.ToString());
    }
  }
}

}  // namespace berth::services
