// The part of ImportPlan that adds aggregates, server groups, and the records of instances and
// migrations.
#include <memory>
#include <optional>
#include <utility>

#include "placement/commands/record_form.h"
#include "placement/rules/import_plan.h"

namespace berth::placement {

void ImportPlan::Add(const std::vector<ImportedAggregate>& records) {
  for (const ImportedAggregate& record : records) {
    auto aggregate = std::make_shared<Aggregate>(record.aggregate);
    const AggregatePtr there = state_.aggregates().Find(aggregate->id);
    if (there != nullptr) {
      Note(Stage::kAggregate, record.record,
           [&] { return CheckGeneration(aggregate->id, std::nullopt, there); });
    }
    if (absl::Status status = CheckNameIsFree(state_, *aggregate, "aggregate.name"); !status.ok()) {
      Note(Stage::kAggregateName, record.record, [&] { return status; });
    }
    aggregate->generation = context_.fresh;
    aggregate->created_at = record.times.created_at.value_or(context_.now);
    aggregate->updated_at = record.times.updated_at.value_or(context_.now);
    changes_.push_back(AggregatePut{std::move(aggregate)});
  }
}

void ImportPlan::Add(const std::vector<ImportedServerGroup>& records) {
  for (const ImportedServerGroup& record : records) {
    auto group = std::make_shared<ServerGroup>(record.group);
    const ServerGroupPtr there = FindGroup(state_.records(), group->id);
    if (there != nullptr) {
      Note(Stage::kServerGroup, record.record,
           [&] { return CheckGeneration(group->id, std::nullopt, there); });
    }
    group->generation = context_.fresh;
    group->created_at = record.times.created_at.value_or(context_.now);
    group->updated_at = record.times.updated_at.value_or(context_.now);
    new_groups_.insert(group->id);
    changes_.push_back(ServerGroupPut{std::move(group)});
  }
}

void ImportPlan::Add(const std::vector<ImportedInstance>& records) {
  absl::flat_hash_map<ServerGroupId, size_t> sizes;  // of the groups that get members
  for (const ImportedInstance& record : records) {
    auto instance = std::make_shared<InstanceRecord>(record.instance);
    const InstancePtr there = state_.records().FindInstance(instance->id);
    if (there != nullptr) {
      Note(Stage::kInstance, record.record,
           [&] { return CheckGeneration(instance->id, std::nullopt, there); });
    }
    if (state_.records().FindMigration(MigrationId{instance->id.uuid}) != nullptr) {
      Note(Stage::kInstance, record.record,
           [&] { return UuidOfMigration(instance->id, "instance.uuid"); });
    }
    const auto group = MemberGroup(*instance);
    if (group && !new_groups_.contains(*group) && FindGroup(state_.records(), *group) == nullptr) {
      Note(Stage::kInstanceGroup, record.record,
           [&] { return ServerGroupNotFound(*group, "instance.group_uuid"); });
    } else if (group) {
      const auto [size, is_first] = sizes.try_emplace(*group, 0);
      if (is_first) size->second = state_.records().MembersOf(*group).size();
      if (++size->second > kServerGroupMembersMax) {
        Note(Stage::kInstanceGroup, record.record, [&] { return ServerGroupFull(*group); });
      }
    }
    instance->generation = context_.fresh;
    instance->created_at = record.times.created_at.value_or(context_.now);
    instance->updated_at = record.times.updated_at.value_or(context_.now);
    new_instances_.insert(instance->id);
    changes_.push_back(InstancePut{std::move(instance)});
  }
}

void ImportPlan::Add(const std::vector<ImportedMigration>& records) {
  for (const ImportedMigration& record : records) {
    auto migration = std::make_shared<MigrationRecord>(record.migration);
    const auto has_record = [this](InstanceId id) {
      return new_instances_.contains(id) || state_.records().FindInstance(id) != nullptr;
    };
    if (!has_record(migration->instance)) {
      Note(Stage::kMigrationInstance, record.record,
           [&] { return InstanceNotFound(migration->instance, "migration.instance_uuid"); });
    }
    if (state_.records().FindMigration(migration->id) != nullptr) {
      Note(Stage::kMigration, record.record, [&] { return DuplicateMigration(migration->id); });
    }
    if (has_record(InstanceId{migration->id.uuid})) {
      Note(Stage::kMigration, record.record,
           [&] { return UuidOfInstance(migration->id, "migration.uuid"); });
    }
    migration->generation = context_.fresh;
    migration->created_at = record.times.created_at.value_or(context_.now);
    migration->updated_at = record.times.updated_at.value_or(context_.now);
    changes_.push_back(MigrationPut{std::move(migration)});
  }
}

}  // namespace berth::placement
