#include "placement/store/record_rows.h"

#include <memory>
#include <string>

#include "placement/store/row_values.h"

namespace berth::placement {
namespace {

// Adds the values of one row, column by column.
class RecordRow {
 public:
  explicit RecordRow(SqlCall& call) : call_(call) {}

  RecordRow& Int(int64_t value) {
    Next().AddInt(value);
    return *this;
  }
  RecordRow& Text(absl::string_view value) {
    Next().AddText(value);
    return *this;
  }
  RecordRow& Bytes(absl::string_view value) {
    Next().AddBytes(value);
    return *this;
  }
  RecordRow& Id(const Uuid& value) {
    Next().AddUuid(value);
    return *this;
  }
  RecordRow& Id(const std::optional<ProviderId>& value) {
    if (value) return Id(value->uuid);
    Next().AddNull();
    return *this;
  }
  RecordRow& Time(const std::optional<absl::Time>& value) {
    if (value) return Int(absl::ToUnixMicros(*value));
    Next().AddNull();
    return *this;
  }
  RecordRow& OldGeneration(const std::optional<Generation>& value) {
    if (value) return Int(value->value);
    Next().AddNull();
    return *this;
  }

 private:
  SqlArray& Next() { return call_.Column(column_++); }

  SqlCall& call_;
  int column_ = 0;
};

std::string TextAt(const QueryRows& rows, int row, int column) {
  return std::string(rows.Text(row, column));
}

std::optional<ProviderId> NodeAt(const QueryRows& rows, int row, int column) {
  if (rows.IsNull(row, column)) return std::nullopt;
  return ProviderId{UuidAt(rows, row, column)};
}

}  // namespace

void AddInstance(SqlCall& call, std::optional<Generation> before, const InstanceRecord& instance) {
  const FlavorAmounts& flavor = instance.flavor;
  RecordRow(call)
      .Id(instance.id.uuid)
      .OldGeneration(before)
      .Int(instance.generation.value)
      .Text(instance.name)
      .Text(instance.project)
      .Text(instance.user)
      .Text(instance.host)
      .Id(instance.node)
      .Text(instance.vm_state)
      .Text(instance.task_state)
      .Int(flavor.vcpus)
      .Int(flavor.memory_mib)
      .Int(flavor.root_disk_gib)
      .Int(flavor.ephemeral_disk_gib)
      .Int(flavor.swap_mib)
      .Bytes(instance.details)
      .Time(instance.created_at)
      .Time(instance.updated_at)
      .Time(instance.deleted_at);
}

void AddMigration(SqlCall& call, std::optional<Generation> before,
                  const MigrationRecord& migration) {
  RecordRow(call)
      .Id(migration.id.uuid)
      .OldGeneration(before)
      .Int(migration.generation.value)
      .Id(migration.instance.uuid)
      .Int(static_cast<int>(migration.type))
      .Text(migration.status)
      .Text(migration.source_host)
      .Id(migration.source_node)
      .Text(migration.destination_host)
      .Id(migration.destination_node)
      .Text(migration.old_flavor_id)
      .Text(migration.new_flavor_id)
      .Time(migration.created_at)
      .Time(migration.updated_at);
}

InstancePtr ReadInstance(const QueryRows& rows, int row) {
  auto instance = std::make_shared<InstanceRecord>();
  instance->id = InstanceId{UuidAt(rows, row, 0)};
  instance->generation = Generation{rows.Int(row, 1)};
  instance->name = TextAt(rows, row, 2);
  instance->project = TextAt(rows, row, 3);
  instance->user = TextAt(rows, row, 4);
  instance->host = TextAt(rows, row, 5);
  instance->node = NodeAt(rows, row, 6);
  instance->vm_state = TextAt(rows, row, 7);
  instance->task_state = TextAt(rows, row, 8);
  instance->flavor = {rows.Int(row, 9), rows.Int(row, 10), rows.Int(row, 11), rows.Int(row, 12),
                      rows.Int(row, 13)};
  instance->details = rows.Bytes(row, 14);
  instance->created_at = TimeAt(rows, row, 15);
  instance->updated_at = TimeAt(rows, row, 16);
  if (!rows.IsNull(row, 17)) instance->deleted_at = TimeAt(rows, row, 17);
  return instance;
}

MigrationPtr ReadMigration(const QueryRows& rows, int row) {
  auto migration = std::make_shared<MigrationRecord>();
  migration->id = MigrationId{UuidAt(rows, row, 0)};
  migration->generation = Generation{rows.Int(row, 1)};
  migration->instance = InstanceId{UuidAt(rows, row, 2)};
  migration->type = static_cast<MigrationType>(rows.Int(row, 3));
  migration->status = TextAt(rows, row, 4);
  migration->source_host = TextAt(rows, row, 5);
  migration->source_node = NodeAt(rows, row, 6);
  migration->destination_host = TextAt(rows, row, 7);
  migration->destination_node = NodeAt(rows, row, 8);
  migration->old_flavor_id = TextAt(rows, row, 9);
  migration->new_flavor_id = TextAt(rows, row, 10);
  migration->created_at = TimeAt(rows, row, 11);
  migration->updated_at = TimeAt(rows, row, 12);
  return migration;
}

}  // namespace berth::placement
