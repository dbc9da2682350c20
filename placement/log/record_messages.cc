#include "placement/log/record_messages.h"

#include <memory>
#include <optional>

#include "absl/time/time.h"
#include "placement/log/id_messages.h"

namespace berth::placement {
namespace {

namespace pb = ledger::v1;

std::optional<ProviderId> NodeOf(bool has, const pb::Id& in) {
  return has ? std::optional(ProviderId{DecodeId(in)}) : std::nullopt;
}

}  // namespace

void EncodeInstance(const InstanceRecord& instance, pb::Instance* out) {
  EncodeId(instance.id.uuid, out->mutable_id());
  out->set_generation(instance.generation.value);
  out->set_name(instance.name);
  out->set_project(instance.project);
  out->set_user(instance.user);
  out->set_host(instance.host);
  if (instance.node) EncodeId(instance.node->uuid, out->mutable_node());
  out->set_vm_state(instance.vm_state);
  out->set_task_state(instance.task_state);
  out->set_vcpus(instance.flavor.vcpus);
  out->set_memory_mib(instance.flavor.memory_mib);
  out->set_root_disk_gib(instance.flavor.root_disk_gib);
  out->set_ephemeral_disk_gib(instance.flavor.ephemeral_disk_gib);
  out->set_swap_mib(instance.flavor.swap_mib);
  out->set_details(instance.details);
  out->set_created_at_us(absl::ToUnixMicros(instance.created_at));
  out->set_updated_at_us(absl::ToUnixMicros(instance.updated_at));
  if (instance.deleted_at) out->set_deleted_at_us(absl::ToUnixMicros(*instance.deleted_at));
}

InstancePtr DecodeInstance(const pb::Instance& in) {
  auto instance = std::make_shared<InstanceRecord>();
  instance->id = InstanceId{DecodeId(in.id())};
  instance->generation = Generation{in.generation()};
  instance->name = in.name();
  instance->project = in.project();
  instance->user = in.user();
  instance->host = in.host();
  instance->node = NodeOf(in.has_node(), in.node());
  instance->vm_state = in.vm_state();
  instance->task_state = in.task_state();
  instance->flavor = {in.vcpus(), in.memory_mib(), in.root_disk_gib(), in.ephemeral_disk_gib(),
                      in.swap_mib()};
  instance->details = in.details();
  instance->created_at = absl::FromUnixMicros(in.created_at_us());
  instance->updated_at = absl::FromUnixMicros(in.updated_at_us());
  if (in.has_deleted_at_us()) instance->deleted_at = absl::FromUnixMicros(in.deleted_at_us());
  return instance;
}

void EncodeMigration(const MigrationRecord& migration, pb::Migration* out) {
  EncodeId(migration.id.uuid, out->mutable_id());
  out->set_generation(migration.generation.value);
  EncodeId(migration.instance.uuid, out->mutable_instance());
  out->set_type(static_cast<int>(migration.type));
  out->set_status(migration.status);
  out->set_source_host(migration.source_host);
  if (migration.source_node) EncodeId(migration.source_node->uuid, out->mutable_source_node());
  out->set_destination_host(migration.destination_host);
  if (migration.destination_node) {
    EncodeId(migration.destination_node->uuid, out->mutable_destination_node());
  }
  out->set_old_flavor_id(migration.old_flavor_id);
  out->set_new_flavor_id(migration.new_flavor_id);
  out->set_created_at_us(absl::ToUnixMicros(migration.created_at));
  out->set_updated_at_us(absl::ToUnixMicros(migration.updated_at));
}

MigrationPtr DecodeMigration(const pb::Migration& in) {
  auto migration = std::make_shared<MigrationRecord>();
  migration->id = MigrationId{DecodeId(in.id())};
  migration->generation = Generation{in.generation()};
  migration->instance = InstanceId{DecodeId(in.instance())};
  migration->type = static_cast<MigrationType>(in.type());
  migration->status = in.status();
  migration->source_host = in.source_host();
  migration->source_node = NodeOf(in.has_source_node(), in.source_node());
  migration->destination_host = in.destination_host();
  migration->destination_node = NodeOf(in.has_destination_node(), in.destination_node());
  migration->old_flavor_id = in.old_flavor_id();
  migration->new_flavor_id = in.new_flavor_id();
  migration->created_at = absl::FromUnixMicros(in.created_at_us());
  migration->updated_at = absl::FromUnixMicros(in.updated_at_us());
  return migration;
}

}  // namespace berth::placement
