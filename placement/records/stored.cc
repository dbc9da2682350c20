#include "placement/records/stored.h"

#include <google/protobuf/arena.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "placement/records/stored.pb.h"

namespace berth::placement {
namespace {

namespace pb = ledger::v1;

template <typename IdType>
std::optional<IdType> IdIn(bool has, const pb::Id& in) {
  return has ? std::optional(IdType{DecodeId(in)}) : std::nullopt;
}

template <typename Field>
void Encode(const HeldParts::Names& names, Field* out) {
  for (const std::string& name : names) *out->Add() = name;
}

template <typename Field>
HeldParts::Names NamesIn(const Field& in) {
  return HeldParts::Names(in.begin(), in.end());
}

HeldPtr HeldIn(const pb::Instance& in) {
  if (in.held().empty() && !in.has_context()) return nullptr;
  auto held = std::make_shared<HeldParts>();
  held->own = NamesIn(in.held());
  if (!in.has_context()) return held;
  HeldParts::Context& context = held->context.emplace(HeldParts::Context());
  context.migration = IdIn<MigrationId>(in.context().has_migration(), in.context().migration());
  context.has_old_flavor = in.context().has_old_flavor();
  context.has_new_flavor = in.context().has_new_flavor();
  context.before = NamesIn(in.context().before());
  context.after = NamesIn(in.context().after());
  return held;
}

void Encode(const HeldParts::Context& context, pb::HeldContext* out) {
  if (context.migration) EncodeId(context.migration->uuid, out->mutable_migration());
  out->set_has_old_flavor(context.has_old_flavor);
  out->set_has_new_flavor(context.has_new_flavor);
  Encode(context.before, out->mutable_before());
  Encode(context.after, out->mutable_after());
}

// The message that the bytes hold, in `arena`; null if they hold none.
template <typename Message>
Message* Parse(absl::string_view bytes, google::protobuf::Arena& arena) {
  auto* message = google::protobuf::Arena::CreateMessage<Message>(&arena);
  const bool is_one = message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  return is_one ? message : nullptr;
}

}  // namespace

void EncodeId(const Uuid& uuid, pb::Id* out) {
  out->set_high(uuid.high);
  out->set_low(uuid.low);
}

Uuid DecodeId(const pb::Id& in) { return Uuid{in.high(), in.low()}; }

std::string StoredBytes(const InstanceRecord& instance) {
  google::protobuf::Arena arena;
  pb::Instance& out = *google::protobuf::Arena::CreateMessage<pb::Instance>(&arena);
  EncodeId(instance.id.uuid, out.mutable_id());
  out.set_generation(instance.generation.value);
  out.set_name(instance.name);
  out.set_project(instance.project);
  out.set_user(instance.user);
  out.set_host(instance.host);
  if (instance.node) EncodeId(instance.node->uuid, out.mutable_node());
  out.set_vm_state(instance.vm_state);
  out.set_task_state(instance.task_state);
  out.set_flavor_id(instance.flavor_id);
  out.set_vcpus(instance.flavor.vcpus);
  out.set_memory_mib(instance.flavor.memory_mib);
  out.set_root_disk_gib(instance.flavor.root_disk_gib);
  out.set_ephemeral_disk_gib(instance.flavor.ephemeral_disk_gib);
  out.set_swap_mib(instance.flavor.swap_mib);
  Encode(HeldOf(instance).own, out.mutable_held());
  if (HeldOf(instance).context) Encode(*HeldOf(instance).context, out.mutable_context());
  out.set_body(instance.body);
  out.set_created_at_us(absl::ToUnixMicros(instance.created_at));
  out.set_updated_at_us(absl::ToUnixMicros(instance.updated_at));
  if (instance.deleted_at) out.set_deleted_at_us(absl::ToUnixMicros(*instance.deleted_at));
  return out.SerializeAsString();
}

InstancePtr StoredInstanceIn(absl::string_view bytes) {
  google::protobuf::Arena arena;
  const auto* in = Parse<pb::Instance>(bytes, arena);
  if (in == nullptr) return nullptr;
  auto instance = std::make_shared<InstanceRecord>();
  instance->id = InstanceId{DecodeId(in->id())};
  instance->generation = Generation{in->generation()};
  instance->name = in->name();
  instance->project = in->project();
  instance->user = in->user();
  instance->host = in->host();
  instance->node = IdIn<ProviderId>(in->has_node(), in->node());
  instance->vm_state = in->vm_state();
  instance->task_state = in->task_state();
  instance->flavor_id = in->flavor_id();
  instance->flavor = {in->vcpus(), in->memory_mib(), in->root_disk_gib(), in->ephemeral_disk_gib(),
                      in->swap_mib()};
  instance->held = HeldIn(*in);
  instance->body = in->body();
  instance->created_at = absl::FromUnixMicros(in->created_at_us());
  instance->updated_at = absl::FromUnixMicros(in->updated_at_us());
  if (in->has_deleted_at_us()) instance->deleted_at = absl::FromUnixMicros(in->deleted_at_us());
  return instance;
}

std::string StoredBytes(const MigrationRecord& migration) {
  pb::Migration out;
  EncodeId(migration.id.uuid, out.mutable_id());
  out.set_generation(migration.generation.value);
  EncodeId(migration.instance.uuid, out.mutable_instance());
  out.set_type(static_cast<int>(migration.type));
  out.set_status(migration.status);
  out.set_source_host(migration.source_host);
  if (migration.source_node) EncodeId(migration.source_node->uuid, out.mutable_source_node());
  out.set_destination_host(migration.destination_host);
  if (migration.destination_node) {
    EncodeId(migration.destination_node->uuid, out.mutable_destination_node());
  }
  out.set_old_flavor_id(migration.old_flavor_id);
  out.set_new_flavor_id(migration.new_flavor_id);
  out.set_body(migration.body);
  out.set_created_at_us(absl::ToUnixMicros(migration.created_at));
  out.set_updated_at_us(absl::ToUnixMicros(migration.updated_at));
  return out.SerializeAsString();
}

MigrationPtr StoredMigrationIn(absl::string_view bytes) {
  google::protobuf::Arena arena;
  const auto* in = Parse<pb::Migration>(bytes, arena);
  if (in == nullptr) return nullptr;
  auto migration = std::make_shared<MigrationRecord>();
  migration->id = MigrationId{DecodeId(in->id())};
  migration->generation = Generation{in->generation()};
  migration->instance = InstanceId{DecodeId(in->instance())};
  migration->type = static_cast<MigrationType>(in->type());
  migration->status = in->status();
  migration->source_host = in->source_host();
  migration->source_node = IdIn<ProviderId>(in->has_source_node(), in->source_node());
  migration->destination_host = in->destination_host();
  migration->destination_node =
      IdIn<ProviderId>(in->has_destination_node(), in->destination_node());
  migration->old_flavor_id = in->old_flavor_id();
  migration->new_flavor_id = in->new_flavor_id();
  migration->body = in->body();
  migration->created_at = absl::FromUnixMicros(in->created_at_us());
  migration->updated_at = absl::FromUnixMicros(in->updated_at_us());
  return migration;
}

}  // namespace berth::placement
