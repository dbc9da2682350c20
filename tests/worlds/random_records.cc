// The part of RandomCommands that changes aggregates, server groups, and the records of instances
// and migrations.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/placement/v1/record.pb.h"
#include "placement/records/message.h"
#include "placement/values/migration_status.h"
#include "tests/worlds/random_commands.h"

namespace berth::placement {
namespace {

// Bytes and characters that a table or an array of PostgreSQL could spoil.
const char* const kTexts[] = {"", "NULL", "a\"b\\c'd{e},f\n\t☃", "{}", "plain"};

// An encoded message with one unknown field, whose bytes could spoil them, too.
const std::string kUnknownField("\x92\x03\x05\0\x01\xff\"\\", 8);

}  // namespace

// Gives the record a body that gives CPUs and devices to its instance.
void RandomCommands::AddRandomParts(InstanceRecord* instance) {
  v1::Instance message;
  message.set_uuid(instance->id.ToString());
  const auto add_cpus = [this](int cell_id, auto* cells) {
    v1::GuestCell& cell = *cells->Add();
    cell.set_host_cell(cell_id);
    for (int i = Below(3); i > 0; --i) cell.add_reserved_cpus(5 * Below(4));
  };
  add_cpus(0, message.mutable_numa_cells());
  if (Below(2) == 0) {
    v1::MigrationContext& context = *message.mutable_migration_context();
    if (Below(2) == 0) context.set_migration_uuid(Uuid{12, Below(8) + 0U}.ToString());
    if (Below(2) == 0) context.mutable_old_flavor();
    if (Below(2) == 0) context.mutable_new_flavor();
    for (int i = Below(3); i > 0; --i) context.add_old_pci_devices()->set_address(kTexts[Below(5)]);
    add_cpus(1, context.mutable_new_numa_cells());
  }
  const InstanceRecord made = InstanceFrom(message);
  instance->held = made.held;
  instance->body = made.body;
}

// An aggregate is made, or replaced; sometimes another one that has the wanted name loses it in the
// same command.
Changes RandomCommands::ChangeAggregate() {
  Aggregate aggregate;
  aggregate.id = AggregateId{Uuid{14, static_cast<uint64_t>(Below(3))}};
  const auto before = model_.aggregates.find(aggregate.id);
  aggregate.generation =
      before == model_.aggregates.end() ? Fresh() : before->second.generation.Next();
  aggregate.name = kTexts[1 + Below(4)];
  for (int i = Below(4); i > 0; --i) {
    aggregate.metadata[absl::StrCat("k", Below(5), kTexts[Below(5)])] = kTexts[Below(5)];
  }
  aggregate.created_at = absl::FromUnixMicros(1'763'632'672'000'001);
  aggregate.updated_at = aggregate.created_at + absl::Microseconds(++next_id_);
  Changes changes;
  for (const auto& [id, other] : model_.aggregates) {
    if (id == aggregate.id || other.name != aggregate.name) continue;
    if (Below(2) == 0) return {};
    changes.push_back(AggregateRemoved{id});
  }
  changes.push_back(AggregatePut{std::make_shared<const Aggregate>(std::move(aggregate))});
  return changes;
}

Changes RandomCommands::RemoveAggregate() {
  if (model_.aggregates.empty()) return {};
  return {AggregateRemoved{Pick(model_.aggregates)}};
}

Changes RandomCommands::ChangeGroup() {
  ServerGroup group;
  group.id = ServerGroupId{Uuid{13, static_cast<uint64_t>(Below(3))}};
  const auto before = model_.groups.find(group.id);
  group.generation = before == model_.groups.end() ? Fresh() : before->second.generation.Next();
  group.name = kTexts[Below(5)];
  group.project = absl::StrCat("project ", Below(3));
  group.user = kTexts[4];
  group.policy = static_cast<ServerGroupPolicy>(1 + Below(kServerGroupPolicyMax));
  if (IsAntiAffinity(group.policy) && Below(2) == 0) group.max_server_per_host = 1 + Below(3);
  group.created_at = absl::FromUnixMicros(1'763'632'672'000'001);
  group.updated_at = group.created_at + absl::Microseconds(++next_id_);
  return {ServerGroupPut{std::make_shared<const ServerGroup>(std::move(group))}};
}

Changes RandomCommands::RemoveGroup() {
  if (model_.groups.empty()) return {};
  const ServerGroupId id = Pick(model_.groups);
  for (const auto& [_, instance] : model_.instances) {
    if (MemberGroup(instance) == id) return {};
  }
  return {ServerGroupRemoved{id}};
}

// An instance is made, or its record changes; sometimes with a claim, or with a migration of it, in
// the same command, as when a move ends.
Changes RandomCommands::ChangeInstance() {
  InstanceRecord instance;
  instance.id = InstanceId{Uuid{11, static_cast<uint64_t>(Below(6))}};
  const auto before = model_.instances.find(instance.id);
  instance.generation =
      before == model_.instances.end() ? Fresh() : before->second.generation.Next();
  instance.name = kTexts[Below(5)];
  instance.project = absl::StrCat("project ", Below(3));
  instance.user = kTexts[4];
  if (Below(3) > 0) {
    instance.host = absl::StrCat("host ", Below(4));
    if (Below(2) == 0) instance.node = ProviderId{Uuid{7, static_cast<uint64_t>(Below(4))}};
  }
  instance.vm_state = Below(5) == 0 ? std::string(kDeletedState) : "active";
  instance.task_state = kTexts[Below(5)];
  if (!model_.groups.empty() && Below(3) > 0) instance.group = Pick(model_.groups);
  instance.flavor = {Below(9), Below(9000), Below(40), Below(3), Below(512)};
  instance.flavor_id = kTexts[Below(5)];
  if (Below(3) == 0) AddRandomParts(&instance);
  if (Below(3) > 0) instance.body += kUnknownField;
  instance.created_at = absl::FromUnixMicros(1'763'632'672'000'001);
  instance.updated_at = instance.created_at + absl::Microseconds(++next_id_);
  if (instance.vm_state == kDeletedState) instance.deleted_at = instance.updated_at;
  Changes changes = Below(3) == 0 ? Claim() : Changes();
  changes.push_back(InstancePut{std::make_shared<const InstanceRecord>(std::move(instance))});
  if (Below(4) > 0 || before == model_.instances.end()) return changes;
  for (Change& change : ChangeMigration()) changes.push_back(std::move(change));
  return changes;
}

Changes RandomCommands::RemoveInstance() {
  if (model_.instances.empty()) return {};
  const InstanceId id = Pick(model_.instances);
  Changes changes;
  for (const auto& [migration, record] : model_.migrations) {
    if (record.instance == id) changes.push_back(MigrationRemoved{migration});
  }
  changes.push_back(InstanceRemoved{id});
  return changes;
}

Changes RandomCommands::ChangeMigration() {
  if (model_.instances.empty()) return {};
  MigrationRecord migration;
  migration.id = MigrationId{Uuid{12, static_cast<uint64_t>(Below(8))}};
  const auto before = model_.migrations.find(migration.id);
  const bool is_new = before == model_.migrations.end();
  migration.generation = is_new ? Fresh() : before->second.generation.Next();
  migration.instance = is_new ? Pick(model_.instances) : before->second.instance;
  migration.type = static_cast<MigrationType>(1 + Below(kMigrationTypeMax));
  const auto statuses = MigrationStatuses();
  migration.status = Below(9) == 0 ? std::string("a word that nobody knows")
                                   : std::string(statuses[Below(statuses.size())].word);
  migration.source_host = absl::StrCat("host ", Below(4));
  if (Below(2) == 0) migration.source_node = ProviderId{Uuid{7, 0}};
  if (Below(3) > 0) {
    migration.destination_host = absl::StrCat("host ", Below(4));
    if (Below(2) == 0) migration.destination_node = ProviderId{Uuid{7, 1}};
  }
  migration.old_flavor_id = kTexts[Below(5)];
  migration.new_flavor_id = kTexts[Below(5)];
  if (Below(3) == 0) migration.body = kUnknownField;
  migration.created_at = absl::FromUnixMicros(1'763'632'672'000'001);
  migration.updated_at = migration.created_at + absl::Microseconds(++next_id_);
  return {MigrationPut{std::make_shared<const MigrationRecord>(std::move(migration))}};
}

}  // namespace berth::placement
