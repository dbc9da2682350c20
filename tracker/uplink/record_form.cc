#include "tracker/uplink/record_form.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tracker/account/records.h"
#include "tracker/ground/status_macros.h"
#include "tracker/ground/uuid.h"
#include "tracker/uplink/record_messages.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int64_t kTextMax = 255;                         // characters of a text
constexpr size_t kWrittenBytesMax = 2 * kRecordBytesMax;  // of the instance of a write

// A text of a record, and the smallest number of characters that it may have.
template <typename Record>
struct TextRule {
  const char* field;
  const std::string& (Record::*text)() const;
  int64_t min;
};
// In the order in which placement finds the faults. Between the two lists, placement looks whether
// a node has a host.
constexpr TextRule<v1::Instance> kInstanceTexts[] = {{"name", &v1::Instance::name, 0},
                                                     {"project_id", &v1::Instance::project_id, 1},
                                                     {"user_id", &v1::Instance::user_id, 1},
                                                     {"host", &v1::Instance::host, 0}};
constexpr TextRule<v1::Instance> kStateTexts[] = {{"vm_state", &v1::Instance::vm_state, 1},
                                                  {"task_state", &v1::Instance::task_state, 0}};
constexpr TextRule<v1::Migration> kMigrationTexts[] = {
    {"status", &v1::Migration::status, 1},
    {"source_host", &v1::Migration::source_host, 1},
    {"destination_host", &v1::Migration::destination_host, 0}};
constexpr TextRule<v1::Migration> kFlavorTexts[] = {
    {"old_flavor_id", &v1::Migration::old_flavor_id, 0},
    {"new_flavor_id", &v1::Migration::new_flavor_id, 0}};

std::string Below(absl::string_view path, absl::string_view field) {
  return absl::StrCat(path, ".", field);
}

// The number of characters of a text, which is valid UTF-8.
int64_t CharactersOf(const std::string& text) {
  return std::count_if(text.begin(), text.end(),
                       [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
}

absl::Status CheckTextField(const std::string& field, const std::string& text, int64_t min) {
  const int64_t length = CharactersOf(text);
  if (length < min || length > kTextMax) {
    return FieldFault(
        field, absl::StrCat("must have ", min, " to ", kTextMax, " characters, but has ", length));
  }
  const bool breaks = std::any_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
  return breaks ? FieldFault(field, "must have no control characters") : absl::OkStatus();
}

template <typename Record, size_t kCount>
absl::Status CheckTexts(const std::string& path, const Record& record,
                        const TextRule<Record> (&rules)[kCount]) {
  for (const TextRule<Record>& rule : rules) {
    BERTH_RETURN_IF_ERROR(CheckTextField(Below(path, rule.field), (record.*rule.text)(), rule.min));
  }
  return absl::OkStatus();
}

absl::Status CheckUuid(const std::string& field, const std::string& text) {
  if (ParseName(text)) return absl::OkStatus();
  return FieldFault(field, text.empty() ? "is required" : "is not a uuid");
}

// A node may be absent. It needs a host.
absl::Status CheckNodeUuid(const std::string& field, const std::string& text) {
  return text.empty() ? absl::OkStatus() : CheckUuid(field, text);
}
absl::Status CheckNodeHasHost(const std::string& field, const std::string& node,
                              const std::string& host) {
  if (node.empty() || !host.empty()) return absl::OkStatus();
  return FieldFault(field, "is only allowed if the host is given too");
}

absl::Status CheckRange(const std::string& field, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return FieldFault(field, absl::StrCat("must be ", min, " to ", max, ", but is ", value));
}

absl::Status CheckAmounts(const std::string& path, const v1::Flavor& wire) {
  const Flavor flavor = ReadFlavor(wire);
  for (const auto& [field, amount] : kFlavorAmounts) {
    BERTH_RETURN_IF_ERROR(CheckRange(Below(path, field), flavor.*amount, 0, kRecordAmountMax));
  }
  return absl::OkStatus();
}

template <typename Ids>
absl::Status CheckIds(const std::string& field, const Ids& ids) {
  for (const int id : ids) BERTH_RETURN_IF_ERROR(CheckRange(field, id, 0, CpuSet::kMaxCpu));
  return absl::OkStatus();
}

template <typename Cells>
absl::Status CheckCells(const std::string& path, const Cells& cells) {
  for (int i = 0; i < cells.size(); ++i) {
    const v1::GuestCell& cell = cells[i];
    const std::string at = absl::StrCat(path, "[", i, "]");
    const std::string pinning = Below(at, "pinning");
    BERTH_RETURN_IF_ERROR(CheckRange(Below(at, "host_cell"), cell.host_cell(), 0, CpuSet::kMaxCpu));
    BERTH_RETURN_IF_ERROR(CheckIds(Below(at, "shared_cpus"), cell.shared_cpus()));
    BERTH_RETURN_IF_ERROR(CheckIds(Below(at, "pinned_cpus"), cell.pinned_cpus()));
    BERTH_RETURN_IF_ERROR(CheckIds(Below(at, "reserved_cpus"), cell.reserved_cpus()));
    for (const auto& [vcpu, cpu] : cell.pinning()) {
      BERTH_RETURN_IF_ERROR(CheckRange(pinning, vcpu, 0, CpuSet::kMaxCpu));
      BERTH_RETURN_IF_ERROR(CheckRange(pinning, cpu, 0, CpuSet::kMaxCpu));
    }
    BERTH_RETURN_IF_ERROR(
        CheckRange(Below(at, "memory_mib"), cell.memory_mib(), 0, kRecordAmountMax));
    BERTH_RETURN_IF_ERROR(
        CheckRange(Below(at, "page_size_kib"), cell.page_size_kib(), kAnyPages, kRecordAmountMax));
  }
  return absl::OkStatus();
}

template <typename Requests>
absl::Status CheckRequests(const std::string& path, const Requests& requests) {
  for (int i = 0; i < requests.size(); ++i) {
    const std::string at = absl::StrCat(path, "[", i, "]");
    BERTH_RETURN_IF_ERROR(
        CheckRange(Below(at, "count"), requests[i].count(), 1, kRequestedDevicesMax));
    if (requests[i].provider_uuids_size() <= requests[i].count()) continue;
    return FieldFault(Below(at, "provider_uuids"), "must name no more providers than devices");
  }
  return absl::OkStatus();
}

// The numbers of the record that are in no field of the ledger.
absl::Status CheckNumbers(const std::string& path, const v1::Instance& instance) {
  const v1::MigrationContext& context = instance.migration_context();
  const std::string at = Below(path, "migration_context");
  BERTH_RETURN_IF_ERROR(CheckCells(Below(path, "numa_cells"), instance.numa_cells()));
  BERTH_RETURN_IF_ERROR(CheckRequests(Below(path, "pci_requests"), instance.pci_requests()));
  BERTH_RETURN_IF_ERROR(
      CheckRange(Below(path, "retry.attempts"), instance.retry().attempts(), 0, kRecordAmountMax));
  BERTH_RETURN_IF_ERROR(CheckAmounts(Below(at, "old_flavor"), context.old_flavor()));
  BERTH_RETURN_IF_ERROR(CheckAmounts(Below(at, "new_flavor"), context.new_flavor()));
  BERTH_RETURN_IF_ERROR(CheckCells(Below(at, "old_numa_cells"), context.old_numa_cells()));
  BERTH_RETURN_IF_ERROR(CheckCells(Below(at, "new_numa_cells"), context.new_numa_cells()));
  BERTH_RETURN_IF_ERROR(CheckRequests(Below(at, "old_pci_requests"), context.old_pci_requests()));
  return CheckRequests(Below(at, "new_pci_requests"), context.new_pci_requests());
}

// The bytes of those parts of the record that placement stores without looking at them.
size_t DetailsSize(v1::Instance instance) {
  instance.clear_uuid();
  instance.clear_generation();
  instance.clear_name();
  instance.clear_project_id();
  instance.clear_user_id();
  instance.clear_host();
  instance.clear_node_uuid();
  instance.clear_vm_state();
  instance.clear_task_state();
  instance.clear_created_at();
  instance.clear_updated_at();
  instance.clear_deleted_at();
  v1::Flavor* const flavor = instance.mutable_flavor();
  for (const auto& [field, amount] : kFlavorAmounts) {
    flavor->GetReflection()->ClearField(flavor, flavor->GetDescriptor()->FindFieldByName(field));
  }
  return instance.ByteSizeLong();
}

absl::Status CheckDetailsSize(const std::string& path, const v1::Instance& instance) {
  // A copy costs more than a look at the size of the whole.
  if (instance.ByteSizeLong() <= kRecordBytesMax || DetailsSize(instance) <= kRecordBytesMax) {
    return absl::OkStatus();
  }
  return FieldFault(
      path, absl::StrCat("is too large: its flavor, image and other details must have at most ",
                         kRecordBytesMax, " bytes together"));
}

// The path of the first text in the message for which `is_wrong(field, text)`; nothing: there is none.
using IsWrong = absl::FunctionRef<bool(const FieldDescriptor& field, const std::string& text)>;
std::optional<std::string> FindText(const Message& message, IsWrong is_wrong);

std::optional<std::string> FindInElement(const Message& message, const FieldDescriptor* field,
                                         int at, IsWrong is_wrong) {
  const Reflection& reflection = *message.GetReflection();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const auto found = FindText(at < 0 ? reflection.GetMessage(message, field)
                                       : reflection.GetRepeatedMessage(message, field, at),
                                is_wrong);
    return found ? std::optional<std::string>("." + *found) : std::nullopt;
  }
  std::string scratch;
  const std::string& text =
      at < 0 ? reflection.GetStringReference(message, field, &scratch)
             : reflection.GetRepeatedStringReference(message, field, at, &scratch);
  return is_wrong(*field, text) ? std::optional<std::string>("") : std::nullopt;
}

std::optional<std::string> FindText(const Message& message, IsWrong is_wrong) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* const field : fields) {
    const bool holds_text = field->type() == FieldDescriptor::TYPE_STRING ||
                            field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!holds_text) continue;
    const bool list = field->is_repeated();
    const int count = list ? message.GetReflection()->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const auto found = FindInElement(message, field, list ? i : -1, is_wrong);
      if (found) return absl::StrCat(field->name(), list ? absl::StrCat("[", i, "]") : "", *found);
    }
  }
  return std::nullopt;
}

// The fields whose names end with `uuid` or `uuids` must have uuids, wherever they are. One that is
// no list may be empty.
absl::Status CheckUuids(const std::string& path, const Message& message) {
  const auto found = FindText(message, [](const FieldDescriptor& field, const std::string& text) {
    const bool of_uuids =
        absl::EndsWith(field.name(), "uuid") || absl::EndsWith(field.name(), "uuids");
    return of_uuids && !ParseName(text);
  });
  return found ? FieldFault(Below(path, *found), "is not a uuid") : absl::OkStatus();
}

}  // namespace

absl::Status FieldFault(absl::string_view field, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(field, " ", why));
}

absl::Status CheckText(const Message& message) {
  const auto found =
      FindText(message, [](const FieldDescriptor& /*field*/, const std::string& text) {
        return text.find('\0') != std::string::npos;
      });
  if (!found) return absl::OkStatus();
  return FieldFault(*found, "must not contain the character U+0000");
}

absl::Status CheckInstanceForm(const std::string& path, const v1::Instance& instance) {
  BERTH_RETURN_IF_ERROR(CheckUuid(Below(path, "uuid"), instance.uuid()));
  if (!instance.has_flavor()) return FieldFault(Below(path, "flavor"), "is required");
  const std::string node = Below(path, "node_uuid");
  BERTH_RETURN_IF_ERROR(CheckNodeUuid(node, instance.node_uuid()));
  BERTH_RETURN_IF_ERROR(CheckUuids(path, instance));
  BERTH_RETURN_IF_ERROR(CheckNumbers(path, instance));
  BERTH_RETURN_IF_ERROR(CheckTexts(path, instance, kInstanceTexts));
  BERTH_RETURN_IF_ERROR(CheckNodeHasHost(node, instance.node_uuid(), instance.host()));
  BERTH_RETURN_IF_ERROR(CheckTexts(path, instance, kStateTexts));
  BERTH_RETURN_IF_ERROR(CheckAmounts(Below(path, "flavor"), instance.flavor()));
  return CheckDetailsSize(path, instance);
}

absl::Status CheckMigrationForm(const v1::Migration& migration) {
  const std::string destination = "migration.destination_node_uuid";
  BERTH_RETURN_IF_ERROR(CheckUuid("migration.uuid", migration.uuid()));
  BERTH_RETURN_IF_ERROR(CheckUuid("migration.instance_uuid", migration.instance_uuid()));
  BERTH_RETURN_IF_ERROR(CheckNodeUuid("migration.source_node_uuid", migration.source_node_uuid()));
  BERTH_RETURN_IF_ERROR(CheckNodeUuid(destination, migration.destination_node_uuid()));
  if (ParseName(migration.uuid()) == ParseName(migration.instance_uuid())) {
    return FieldFault("migration.uuid", "must not be the uuid of the instance");
  }
  if (migration.type() == v1::MIGRATION_TYPE_UNSPECIFIED ||
      !v1::MigrationType_IsValid(migration.type())) {
    return FieldFault("migration.type", "must be a migration type that this release knows");
  }
  BERTH_RETURN_IF_ERROR(CheckTexts("migration", migration, kMigrationTexts));
  BERTH_RETURN_IF_ERROR(CheckNodeHasHost(destination, migration.destination_node_uuid(),
                                         migration.destination_host()));
  return CheckTexts("migration", migration, kFlavorTexts);
}

absl::Status CheckFlavorForm(const std::string& path, const v1::Flavor& flavor) {
  BERTH_RETURN_IF_ERROR(CheckAmounts(path, flavor));
  if (flavor.ByteSizeLong() <= kRecordBytesMax) return absl::OkStatus();
  return FieldFault(path, absl::StrCat("must have at most ", kRecordBytesMax, " bytes"));
}

absl::Status CheckWriteForm(const v1::RecordWrite& write) {
  BERTH_RETURN_IF_ERROR(CheckText(write));
  const v1::Instance& instance = write.instance();
  BERTH_RETURN_IF_ERROR(CheckUuid("instance.uuid", instance.uuid()));
  BERTH_RETURN_IF_ERROR(CheckUuids("instance", instance));
  if (write.withdraw()) return absl::OkStatus();
  BERTH_RETURN_IF_ERROR(CheckNumbers("instance", instance));
  BERTH_RETURN_IF_ERROR(CheckTextField("instance.host", instance.host(), 0));
  BERTH_RETURN_IF_ERROR(CheckTextField("instance.vm_state", instance.vm_state(), 0));
  BERTH_RETURN_IF_ERROR(CheckTextField("instance.task_state", instance.task_state(), 0));
  if (instance.ByteSizeLong() > kWrittenBytesMax) {
    return FieldFault("instance", "is larger than any record");
  }
  if (!write.has_migration()) return absl::OkStatus();
  const v1::Migration& migration = write.migration();
  BERTH_RETURN_IF_ERROR(CheckUuid("migration.uuid", migration.uuid()));
  BERTH_RETURN_IF_ERROR(
      CheckNodeUuid("migration.destination_node_uuid", migration.destination_node_uuid()));
  BERTH_RETURN_IF_ERROR(CheckTextField("migration.status", migration.status(), 1));
  return CheckTextField("migration.destination_host", migration.destination_host(), 0);
}

}  // namespace berth::tracker
