#include "placement/store/record_rows.h"

#include <memory>
#include <string>

#include "placement/records/message.h"
#include "placement/store/row_values.h"

namespace berth::placement {
namespace {

constexpr int kInstanceKind = 1;
constexpr int kMigrationKind = 2;

template <typename Record>
void AddRow(SqlCall& call, std::optional<Generation> before, const Record& record, int kind,
            const Uuid* instance) {
  call.Column(0).AddUuid(record.id.uuid);
  if (before) {
    call.Column(1).AddInt(before->value);
  } else {
    call.Column(1).AddNull();
  }
  call.Column(2).AddInt(kind);
  call.Column(3).AddInt(record.generation.value);
  if (instance != nullptr) {
    call.Column(4).AddUuid(*instance);
  } else {
    call.Column(4).AddNull();
  }
  call.Column(5).AddBytes(StoredBytes(record));
}

}  // namespace

void AddRecord(SqlCall& call, std::optional<Generation> before, const InstanceRecord& instance) {
  AddRow(call, before, instance, kInstanceKind, nullptr);
}

void AddRecord(SqlCall& call, std::optional<Generation> before, const MigrationRecord& migration) {
  AddRow(call, before, migration, kMigrationKind, &migration.instance.uuid);
}

InstancePtr ReadInstance(const QueryRows& rows, int row) {
  const InstanceId id{UuidAt(rows, row, 0)};
  const Generation generation{rows.Int(row, 1)};
  InstancePtr instance = StoredInstanceIn(rows.Bytes(row, 2));
  if (instance != nullptr && instance->id == id && instance->generation == generation) {
    return instance;
  }
  auto unreadable = std::make_shared<InstanceRecord>();
  unreadable->id = id;
  unreadable->generation = generation;
  unreadable->vm_state = std::string(kUnreadable);
  return unreadable;
}

MigrationPtr ReadMigration(const QueryRows& rows, int row) {
  const MigrationId id{UuidAt(rows, row, 0)};
  const Generation generation{rows.Int(row, 1)};
  const InstanceId instance{UuidAt(rows, row, 3)};
  MigrationPtr migration = StoredMigrationIn(rows.Bytes(row, 2));
  if (migration != nullptr && migration->id == id && migration->generation == generation &&
      migration->instance == instance) {
    return migration;
  }
  auto unreadable = std::make_shared<MigrationRecord>();
  unreadable->id = id;
  unreadable->generation = generation;
  unreadable->instance = instance;
  unreadable->type = MigrationType{};
  unreadable->status = std::string(kUnreadable);
  return unreadable;
}

}  // namespace berth::placement
