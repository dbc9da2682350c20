#include "placement/records/message.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/placement/v1/record.pb.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "placement/ground/check.h"
#include "placement/records/stored_time.h"

namespace berth::placement {
namespace {

using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using Wire = google::protobuf::internal::WireFormatLite;

// The bytes of `message`. Equal messages give equal bytes.
std::string BytesOf(const google::protobuf::MessageLite& message) {
  std::string bytes(message.ByteSizeLong(), '\0');
  google::protobuf::io::ArrayOutputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  return bytes;
}

template <typename Cells, typename Devices, typename Units>
PartNames NamesIn(const Cells& cells, const Devices& devices, const Units& units) {
  PartNameSet names;
  for (const v1::GuestCell& cell : cells) {
    if (!cell.has_host_cell()) continue;
    const auto add = [&](int cpu) { names.insert(absl::StrCat("c", cell.host_cell(), "/", cpu)); };
    for (const auto& [vcpu, cpu] : cell.pinning()) add(cpu);
    for (const int cpu : cell.reserved_cpus()) add(cpu);
  }
  for (const v1::PciDevice& device : devices) names.insert(absl::StrCat("d", device.address()));
  for (const v1::NamedUnit& unit : units) {
    names.insert(
        absl::StrCat("u", unit.provider_uuid(), "/", unit.resource_class(), "/", unit.name()));
  }
  return PartNames(names);
}

HeldPtr HeldIn(const v1::Instance& message) {
  auto held = std::make_shared<HeldParts>();
  held->own = NamesIn(message.numa_cells(), message.pci_devices(), message.named_units());
  if (message.has_migration_context()) {
    const v1::MigrationContext& from = message.migration_context();
    auto context = std::make_shared<HeldParts::Context>();
    context->migration = MigrationId::Parse(from.migration_uuid());
    // To the trackers the nil uuid names nothing, too.
    if (context->migration == MigrationId()) context->migration.reset();
    context->has_old_flavor = from.has_old_flavor();
    context->has_new_flavor = from.has_new_flavor();
    context->before =
        NamesIn(from.old_numa_cells(), from.old_pci_devices(), from.old_named_units());
    context->after = NamesIn(from.new_numa_cells(), from.new_pci_devices(), from.new_named_units());
    held->context = std::move(context);
  }
  if (held->own.empty() && !held->context) return nullptr;
  return held;
}

// The numbers of the fields that an index has. Those of the flavor are fields of Flavor.
constexpr int kInstanceIndex[] = {
    v1::Instance::kUuidFieldNumber,      v1::Instance::kGenerationFieldNumber,
    v1::Instance::kNameFieldNumber,      v1::Instance::kProjectIdFieldNumber,
    v1::Instance::kUserIdFieldNumber,    v1::Instance::kHostFieldNumber,
    v1::Instance::kNodeUuidFieldNumber,  v1::Instance::kVmStateFieldNumber,
    v1::Instance::kTaskStateFieldNumber, v1::Instance::kCreatedAtFieldNumber,
    v1::Instance::kUpdatedAtFieldNumber, v1::Instance::kDeletedAtFieldNumber,
    v1::Instance::kGroupUuidFieldNumber};
constexpr int kFlavorIndex[] = {v1::Flavor::kIdFieldNumber,
                                v1::Flavor::kVcpusFieldNumber,
                                v1::Flavor::kMemoryMibFieldNumber,
                                v1::Flavor::kRootDiskGibFieldNumber,
                                v1::Flavor::kEphemeralDiskGibFieldNumber,
                                v1::Flavor::kSwapMibFieldNumber};
constexpr int kMigrationIndex[] = {v1::Migration::kUuidFieldNumber,
                                   v1::Migration::kGenerationFieldNumber,
                                   v1::Migration::kInstanceUuidFieldNumber,
                                   v1::Migration::kTypeFieldNumber,
                                   v1::Migration::kStatusFieldNumber,
                                   v1::Migration::kSourceHostFieldNumber,
                                   v1::Migration::kSourceNodeUuidFieldNumber,
                                   v1::Migration::kDestinationHostFieldNumber,
                                   v1::Migration::kDestinationNodeUuidFieldNumber,
                                   v1::Migration::kOldFlavorIdFieldNumber,
                                   v1::Migration::kNewFlavorIdFieldNumber,
                                   v1::Migration::kCreatedAtFieldNumber,
                                   v1::Migration::kUpdatedAtFieldNumber};
// The fields of the body from which HeldIn is derived.
constexpr int kHeldFields[] = {
    v1::Instance::kNumaCellsFieldNumber, v1::Instance::kMigrationContextFieldNumber,
    v1::Instance::kPciDevicesFieldNumber, v1::Instance::kNamedUnitsFieldNumber};

bool IsAmong(absl::Span<const int> numbers, int number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

// The fields of a message, as bytes.
struct SplitMessage {
  std::string index, body;
  std::string held;  // those of the body that are among kHeldFields
};

void AppendField(int number, absl::string_view value, std::string* to) {
  uint8_t head[10];
  uint8_t* end = CodedOutputStream::WriteTagToArray(
      Wire::MakeTag(number, Wire::WIRETYPE_LENGTH_DELIMITED), head);
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(value.size()), end);
  to->append(head, end);
  absl::StrAppend(to, value);
}

// Splits the message in `bytes` into the fields with the numbers `index` and the others. A field
// `flavor`, if that is not 0, is itself split, and both parts get theirs. Returns nothing if `bytes`
// holds no message.
std::optional<SplitMessage> Split(absl::string_view bytes, absl::Span<const int> index,
                                  int flavor = 0) {
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  SplitMessage split;
  int begin = 0;
  while (const uint32_t tag = in.ReadTag()) {
    const int number = Wire::GetTagFieldNumber(tag);
    if (flavor != 0 && number == flavor &&
        Wire::GetTagWireType(tag) == Wire::WIRETYPE_LENGTH_DELIMITED) {
      std::string value;
      uint32_t size = 0;
      if (!in.ReadVarint32(&size) || !in.ReadString(&value, static_cast<int>(size))) return {};
      const std::optional<SplitMessage> inner = Split(value, kFlavorIndex);
      if (!inner) return {};
      AppendField(flavor, inner->index, &split.index);
      if (!inner->body.empty()) AppendField(flavor, inner->body, &split.body);
    } else if (Wire::SkipField(&in, tag)) {
      const absl::string_view field = bytes.substr(begin, in.CurrentPosition() - begin);
      const bool indexed = IsAmong(index, number);
      absl::StrAppend(indexed ? &split.index : &split.body, field);
      if (!indexed && IsAmong(kHeldFields, number)) absl::StrAppend(&split.held, field);
    } else {
      return {};
    }
    begin = in.CurrentPosition();
  }
  if (!in.ConsumedEntireMessage()) return {};
  return split;
}

// Reads an id that may be missing. Returns false if the text is not empty and no uuid.
template <typename IdType>
bool ReadOptional(const std::string& text, std::optional<IdType>* id) {
  *id = IdType::Parse(text);
  return id->has_value() || text.empty();
}

// Fill the message with the fields of the index.
void FillIndex(const InstanceRecord& instance, v1::Instance* to) {
  to->set_uuid(instance.id.ToString());
  to->set_generation(instance.generation.value);
  to->set_name(instance.name);
  to->set_project_id(instance.project);
  to->set_user_id(instance.user);
  to->set_host(instance.host);
  if (instance.node) to->set_node_uuid(instance.node->ToString());
  to->set_vm_state(instance.vm_state);
  to->set_task_state(instance.task_state);
  if (instance.group) to->set_group_uuid(instance.group->ToString());
  v1::Flavor* const flavor = to->mutable_flavor();
  flavor->set_id(instance.flavor_id);
  flavor->set_vcpus(static_cast<int32_t>(instance.flavor.vcpus));
  flavor->set_memory_mib(instance.flavor.memory_mib);
  flavor->set_root_disk_gib(instance.flavor.root_disk_gib);
  flavor->set_ephemeral_disk_gib(instance.flavor.ephemeral_disk_gib);
  flavor->set_swap_mib(instance.flavor.swap_mib);
  *to->mutable_created_at() = TimestampOf(instance.created_at);
  *to->mutable_updated_at() = TimestampOf(instance.updated_at);
  if (instance.deleted_at) *to->mutable_deleted_at() = TimestampOf(*instance.deleted_at);
}

void FillIndex(const MigrationRecord& migration, v1::Migration* to) {
  to->set_uuid(migration.id.ToString());
  to->set_generation(migration.generation.value);
  to->set_instance_uuid(migration.instance.ToString());
  to->set_type(static_cast<v1::MigrationType>(migration.type));
  to->set_status(migration.status);
  to->set_source_host(migration.source_host);
  if (migration.source_node) to->set_source_node_uuid(migration.source_node->ToString());
  to->set_destination_host(migration.destination_host);
  if (migration.destination_node) {
    to->set_destination_node_uuid(migration.destination_node->ToString());
  }
  to->set_old_flavor_id(migration.old_flavor_id);
  to->set_new_flavor_id(migration.new_flavor_id);
  *to->mutable_created_at() = TimestampOf(migration.created_at);
  *to->mutable_updated_at() = TimestampOf(migration.updated_at);
}

// Fills `to`, which must be empty, with the body and the index of `record`.
template <typename Record, typename Message>
void FillAll(const Record& record, Message* to) {
  to->ParseFromString(record.body);
  FillIndex(record, to);
}

// Messages of one field after another are one message.
template <typename Message, typename Record>
std::string BodyAndIndex(const Record& record) {
  google::protobuf::Arena arena;
  auto* index = google::protobuf::Arena::CreateMessage<Message>(&arena);
  FillIndex(record, index);
  return absl::StrCat(record.body, index->SerializeAsString());
}

// Return the record whose message is in `bytes`; none if there is none.
std::optional<InstanceRecord> InstanceIn(absl::string_view bytes) {
  google::protobuf::Arena arena;
  auto& index = *google::protobuf::Arena::CreateMessage<v1::Instance>(&arena);
  std::optional<SplitMessage> split =
      Split(bytes, kInstanceIndex, v1::Instance::kFlavorFieldNumber);
  if (!split || !index.ParseFromString(split->index)) return std::nullopt;
  const std::optional<InstanceId> id = InstanceId::Parse(index.uuid());
  InstanceRecord record;
  if (!id || !ReadOptional(index.node_uuid(), &record.node) ||
      !ReadOptional(index.group_uuid(), &record.group)) {
    return std::nullopt;
  }
  record.id = *id;
  record.generation = Generation{index.generation()};
  record.name = index.name();
  record.project = index.project_id();
  record.user = index.user_id();
  record.host = index.host();
  record.vm_state = index.vm_state();
  record.task_state = index.task_state();
  const v1::Flavor& flavor = index.flavor();
  record.flavor_id = flavor.id();
  record.flavor = {flavor.vcpus(), flavor.memory_mib(), flavor.root_disk_gib(),
                   flavor.ephemeral_disk_gib(), flavor.swap_mib()};
  if (!ReadTime(index.created_at(), &record.created_at) ||
      !ReadTime(index.updated_at(), &record.updated_at) ||
      (index.has_deleted_at() && !ReadTime(index.deleted_at(), &record.deleted_at.emplace()))) {
    return std::nullopt;
  }
  if (!split->held.empty()) {
    auto& held = *google::protobuf::Arena::CreateMessage<v1::Instance>(&arena);
    if (!held.ParseFromString(split->held)) return std::nullopt;
    record.held = HeldIn(held);
  }
  split->body.shrink_to_fit();
  record.body = std::move(split->body);
  return record;
}

std::optional<MigrationRecord> MigrationIn(absl::string_view bytes) {
  std::optional<SplitMessage> split = Split(bytes, kMigrationIndex);
  v1::Migration index;
  if (!split || !index.ParseFromString(split->index)) return std::nullopt;
  const std::optional<MigrationId> id = MigrationId::Parse(index.uuid());
  const std::optional<InstanceId> instance = InstanceId::Parse(index.instance_uuid());
  MigrationRecord record;
  if (!id || !instance || !ReadOptional(index.source_node_uuid(), &record.source_node) ||
      !ReadOptional(index.destination_node_uuid(), &record.destination_node)) {
    return std::nullopt;
  }
  record.id = *id;
  record.generation = Generation{index.generation()};
  record.instance = *instance;
  record.type = static_cast<MigrationType>(index.type());
  record.status = index.status();
  record.source_host = index.source_host();
  record.destination_host = index.destination_host();
  record.old_flavor_id = index.old_flavor_id();
  record.new_flavor_id = index.new_flavor_id();
  record.body = std::move(split->body);
  if (!ReadTime(index.created_at(), &record.created_at) ||
      !ReadTime(index.updated_at(), &record.updated_at)) {
    return std::nullopt;
  }
  return record;
}

template <typename Record>
Record Checked(std::optional<Record> record) {
  BERTH_CHECK(record.has_value());  // the caller has made the message
  return *std::move(record);
}

template <typename Record>
std::shared_ptr<const Record> Shared(std::optional<Record> record) {
  return record ? std::make_shared<const Record>(*std::move(record)) : nullptr;
}

}  // namespace

InstanceRecord InstanceFrom(v1::Instance message) {
  message.clear_generation();
  message.clear_created_at();
  message.clear_updated_at();
  message.clear_deleted_at();
  return Checked(InstanceIn(BytesOf(message)));
}

MigrationRecord MigrationFrom(v1::Migration message) {
  message.clear_generation();
  message.clear_created_at();
  message.clear_updated_at();
  return Checked(MigrationIn(BytesOf(message)));
}

void FillInstance(const InstanceRecord& instance, v1::Instance* to) { FillAll(instance, to); }
void FillMigration(const MigrationRecord& migration, v1::Migration* to) { FillAll(migration, to); }

std::string StoredBytes(const InstanceRecord& instance) {
  return BodyAndIndex<v1::Instance>(instance);
}
std::string StoredBytes(const MigrationRecord& migration) {
  return BodyAndIndex<v1::Migration>(migration);
}

InstancePtr StoredInstanceIn(absl::string_view bytes) { return Shared(InstanceIn(bytes)); }
MigrationPtr StoredMigrationIn(absl::string_view bytes) { return Shared(MigrationIn(bytes)); }

}  // namespace berth::placement
