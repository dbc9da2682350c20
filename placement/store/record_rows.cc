#include "placement/store/record_rows.h"

#include <memory>
#include <string>

#include "placement/records/aggregate_message.h"
#include "placement/records/group_message.h"
#include "placement/records/message.h"
#include "placement/store/row_values.h"

namespace berth::placement {
namespace {

constexpr int kInstanceKind = 1;
constexpr int kMigrationKind = 2;
constexpr int kServerGroupKind = 3;
constexpr int kAggregateKind = 4;

int KindOf(const InstanceRecord&) { return kInstanceKind; }
int KindOf(const MigrationRecord&) { return kMigrationKind; }
int KindOf(const ServerGroup&) { return kServerGroupKind; }
int KindOf(const Aggregate&) { return kAggregateKind; }

// `whole`: what the record is a part of; null: of nothing.
template <typename Record>
void AddRow(SqlCall& call, std::optional<Generation> before, const Record& record,
            const Uuid* whole) {
  call.Column(0).AddUuid(record.id.uuid);
  if (before) {
    call.Column(1).AddInt(before->value);
  } else {
    call.Column(1).AddNull();
  }
  call.Column(2).AddInt(KindOf(record));
  call.Column(3).AddInt(record.generation.value);
  if (whole != nullptr) {
    call.Column(4).AddUuid(*whole);
  } else {
    call.Column(4).AddNull();
  }
  call.Column(5).AddBytes(StoredBytes(record));
}

template <typename Record>
void RemoveRow(SqlCall& call, const Record& record) {
  call.Column(0).AddUuid(record.id.uuid);
  call.Column(1).AddInt(KindOf(record));
  call.Column(2).AddInt(record.generation.value);
}

}  // namespace

void AddRecord(SqlCall& call, std::optional<Generation> before, const InstanceRecord& instance) {
  const std::optional<ServerGroupId> group = MemberGroup(instance);
  AddRow(call, before, instance, group ? &group->uuid : nullptr);
}
void AddRecord(SqlCall& call, std::optional<Generation> before, const MigrationRecord& migration) {
  AddRow(call, before, migration, &migration.instance.uuid);
}
void AddRecord(SqlCall& call, std::optional<Generation> before, const ServerGroup& group) {
  AddRow(call, before, group, nullptr);
}
void AddRecord(SqlCall& call, std::optional<Generation> before, const Aggregate& aggregate) {
  AddRow(call, before, aggregate, nullptr);
}

void RemoveRecord(SqlCall& call, const InstanceRecord& instance) { RemoveRow(call, instance); }
void RemoveRecord(SqlCall& call, const MigrationRecord& migration) { RemoveRow(call, migration); }
void RemoveRecord(SqlCall& call, const ServerGroup& group) { RemoveRow(call, group); }
void RemoveRecord(SqlCall& call, const Aggregate& aggregate) { RemoveRow(call, aggregate); }

InstancePtr ReadInstance(const QueryRows& rows, int row) {
  const InstanceId id{UuidAt(rows, row, 0)};
  const Generation generation{rows.Int(row, 1)};
  std::optional<ServerGroupId> group;
  if (!rows.IsNull(row, 3)) group = ServerGroupId{UuidAt(rows, row, 3)};
  InstancePtr instance = StoredInstanceIn(rows.Bytes(row, 2));
  if (instance != nullptr && instance->id == id && instance->generation == generation &&
      MemberGroup(*instance) == group) {
    return instance;
  }
  auto unreadable = std::make_shared<InstanceRecord>();
  unreadable->id = id;
  unreadable->generation = generation;
  unreadable->group = group;
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

ServerGroupPtr ReadServerGroup(const QueryRows& rows, int row) {
  const ServerGroupId id{UuidAt(rows, row, 0)};
  const Generation generation{rows.Int(row, 1)};
  ServerGroupPtr group = StoredServerGroupIn(rows.Bytes(row, 2));
  if (group != nullptr && group->id == id && group->generation == generation) return group;
  auto unreadable = std::make_shared<ServerGroup>();
  unreadable->id = id;
  unreadable->generation = generation;
  unreadable->name = std::string(kUnreadable);
  unreadable->policy = ServerGroupPolicy::kSoftAffinity;
  return unreadable;
}

AggregatePtr ReadAggregate(const QueryRows& rows, int row) {
  const AggregateId id{UuidAt(rows, row, 0)};
  const Generation generation{rows.Int(row, 1)};
  AggregatePtr aggregate = StoredAggregateIn(rows.Bytes(row, 2));
  if (aggregate != nullptr && aggregate->id == id && aggregate->generation == generation) {
    return aggregate;
  }
  auto unreadable = std::make_shared<Aggregate>();
  unreadable->id = id;
  unreadable->generation = generation;
  return unreadable;
}

}  // namespace berth::placement
