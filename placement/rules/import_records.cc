// The part of ImportPlan that adds the records of instances and migrations.
#include <memory>
#include <optional>
#include <utility>

#include "placement/commands/record_form.h"
#include "placement/rules/import_plan.h"

namespace berth::placement {

void ImportPlan::Add(const std::vector<ImportedInstance>& records) {
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
