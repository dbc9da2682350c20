#include "placement/ledger/record_check.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "placement/ground/sha256.h"
#include "placement/ground/uuid.h"

namespace berth::placement {
namespace {

using Fields = google::protobuf::UnknownFieldSet;
using google::protobuf::UnknownField;

constexpr size_t kLongText = 512;
constexpr size_t kFaultsMax = 100;

// The fields of the message in `bytes`; null if `bytes` holds no message.
std::unique_ptr<const Fields> FieldsOf(absl::string_view bytes) {
  auto fields = std::make_unique<Fields>();
  if (!fields->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return nullptr;
  return fields;
}

// The values of the field that are texts, bytes or messages.
std::vector<std::string> TextsAt(const Fields& fields, int number) {
  std::vector<std::string> texts;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    if (field.number() != number || field.type() != UnknownField::TYPE_LENGTH_DELIMITED) continue;
    texts.push_back(field.length_delimited());
  }
  return texts;
}

std::string TextAt(const Fields& fields, int number) {
  const std::vector<std::string> texts = TextsAt(fields, number);
  return texts.empty() ? "" : texts.back();
}

// The numbers of the field, whether they are packed or not.
std::vector<int> NumbersAt(const Fields& fields, int number) {
  std::vector<int> numbers;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    if (field.number() != number) continue;
    if (field.type() == UnknownField::TYPE_VARINT) {
      numbers.push_back(static_cast<int>(field.varint()));
      continue;
    }
    uint64_t value = 0;
    int shift = 0;
    for (const char byte : field.length_delimited()) {
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      numbers.push_back(static_cast<int>(value));
      value = 0;
      shift = 0;
    }
  }
  return numbers;
}

bool Has(const Fields& fields, int number) {
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).number() == number) return true;
  }
  return false;
}

// The numbers of the fields of a record's message that its index has.
constexpr int kInstanceIndex[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15, 16};
constexpr int kFlavorField = 10;
constexpr int kFlavorIndex[] = {1, 2, 3, 4, 5, 6};
constexpr int kMigrationIndex[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};

template <typename Numbers>
bool HasAny(const Fields& fields, const Numbers& numbers) {
  return std::any_of(std::begin(numbers), std::end(numbers),
                     [&](int number) { return Has(fields, number); });
}

// The field numbers of cells, devices and units in an instance, or on one side of its migration
// context.
struct PartFields {
  int cells, devices, units;
};
constexpr PartFields kOwn = {11, 17, 18};
constexpr int kContext = 13;
constexpr PartFields kBefore = {4, 6, 10};
constexpr PartFields kAfter = {5, 7, 11};

void AddCell(const Fields& cell, std::set<std::string>& names) {
  const std::vector<int> host_cells = NumbersAt(cell, 1);
  if (host_cells.empty()) return;
  const auto add = [&](int cpu) { names.insert(absl::StrCat("c", host_cells.back(), "/", cpu)); };
  for (const std::string& pinned : TextsAt(cell, 6)) {
    const std::unique_ptr<const Fields> entry = FieldsOf(pinned);
    if (!entry) continue;
    const std::vector<int> cpus = NumbersAt(*entry, 2);
    add(cpus.empty() ? 0 : cpus.back());
  }
  for (const int cpu : NumbersAt(cell, 7)) add(cpu);
}

std::set<std::string> PartsIn(const Fields& message, const PartFields& at) {
  std::set<std::string> names;
  const auto each = [&](int number, auto use) {
    for (const std::string& bytes : TextsAt(message, number)) {
      if (const std::unique_ptr<const Fields> fields = FieldsOf(bytes)) use(*fields);
    }
  };
  each(at.cells, [&](const Fields& cell) { AddCell(cell, names); });
  each(at.devices,
       [&](const Fields& device) { names.insert(absl::StrCat("d", TextAt(device, 1))); });
  each(at.units, [&](const Fields& unit) {
    names.insert(absl::StrCat("u", TextAt(unit, 1), "/", TextAt(unit, 2), "/", TextAt(unit, 3)));
  });
  return names;
}

bool AreSame(const HeldParts::Names& names, const std::set<std::string>& wanted) {
  return std::equal(names.begin(), names.end(), wanted.begin(), wanted.end());
}

// Why the record is faulty; empty if it is not.
std::string FaultOf(const InstanceRecord& instance) {
  if (instance.vm_state == kUnreadable) return "cannot be read";
  const std::unique_ptr<const Fields> body = FieldsOf(instance.body);
  if (!body) return "has a body that cannot be read";
  const std::unique_ptr<const Fields> flavor = FieldsOf(TextAt(*body, kFlavorField));
  if (!flavor || HasAny(*body, kInstanceIndex) || HasAny(*flavor, kFlavorIndex)) {
    return "has a field of its index in its body";
  }
  const HeldParts& held = HeldOf(instance);
  const std::string context = TextAt(*body, kContext);
  bool agrees =
      AreSame(held.own, PartsIn(*body, kOwn)) && held.context.has_value() == Has(*body, kContext);
  if (agrees && held.context) {
    const std::unique_ptr<const Fields> fields = FieldsOf(context);
    agrees = fields != nullptr && AreSame(held.context->before, PartsIn(*fields, kBefore)) &&
             AreSame(held.context->after, PartsIn(*fields, kAfter)) &&
             held.context->has_old_flavor == Has(*fields, 2) &&
             held.context->has_new_flavor == Has(*fields, 3);
  }
  return agrees ? "" : "has other CPUs, devices or units in its index than in its body";
}

std::string FaultOf(const MigrationRecord& migration) {
  if (migration.status == kUnreadable) return "cannot be read";
  const std::unique_ptr<const Fields> body = FieldsOf(migration.body);
  if (!body) return "has a body that cannot be read";
  return HasAny(*body, kMigrationIndex) ? "has a field of its index in its body" : "";
}

// Writes fields as `<number>=<value>;`, ascending. A field without a value is left out. Of a long
// text there is only the digest.
class FieldText {
 public:
  FieldText& Number(int field, int64_t value) {
    if (value != 0) absl::StrAppend(&text_, field, "=", value, ";");
    return *this;
  }
  FieldText& Text(int field, absl::string_view value) {
    if (value.empty()) return *this;
    const bool is_long = value.size() > kLongText;
    absl::StrAppend(&text_, field, "=",
                    is_long ? absl::BytesToHexString(Sha256(value)) : absl::CEscape(value), ";");
    return *this;
  }
  FieldText& Id(int field, const Uuid& uuid) {
    absl::StrAppend(&text_, field, "=", uuid.ToString(), ";");
    return *this;
  }
  FieldText& Id(int field, const std::optional<ProviderId>& id) {
    return id ? Id(field, id->uuid) : *this;
  }
  FieldText& Names(int field, const HeldParts::Names& names) {
    for (const std::string& name : names) Text(field, name);
    return *this;
  }
  FieldText& Micros(int field, absl::Time time) { return Number(field, absl::ToUnixMicros(time)); }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

Uuid UuidIn(const Fields& fields) {
  Uuid uuid;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    if (field.type() != UnknownField::TYPE_FIXED64) continue;
    (field.number() == 1 ? uuid.high : uuid.low) = field.fixed64();
  }
  return uuid;
}

// The kinds of fields of stored messages that are not plain texts, bytes or numbers.
struct StoredForm {
  absl::Span<const int> ids;
  int last;         // a higher number is of a newer release
  int context = 0;  // the field that is a HeldContext; 0: none
};
constexpr int kInstanceIds[] = {1, 7};
constexpr int kMigrationIds[] = {1, 3, 7, 9};
constexpr int kContextIds[] = {1};
constexpr StoredForm kInstanceForm = {kInstanceIds, 21, 20};
constexpr StoredForm kMigrationForm = {kMigrationIds, 14};
constexpr StoredForm kContextForm = {kContextIds, 5};

bool IsAmong(absl::Span<const int> numbers, int number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

std::string StoredText(absl::string_view content, const StoredForm& form) {
  const std::unique_ptr<const Fields> fields = FieldsOf(content);
  if (!fields) return "no message";
  FieldText text;
  for (int i = 0; i < fields->field_count(); ++i) {
    const UnknownField& field = fields->field(i);
    if (field.number() > form.last) continue;
    if (field.type() == UnknownField::TYPE_VARINT) {
      text.Number(field.number(), static_cast<int64_t>(field.varint()));
    } else if (field.type() != UnknownField::TYPE_LENGTH_DELIMITED) {
      text.Text(field.number(), "a value of another type");
    } else if (IsAmong(form.ids, field.number())) {
      const std::unique_ptr<const Fields> id = FieldsOf(field.length_delimited());
      if (id) text.Id(field.number(), UuidIn(*id));
    } else if (field.number() == form.context) {
      text.Text(field.number(), StoredText(field.length_delimited(), kContextForm) + "}");
    } else {
      text.Text(field.number(), field.length_delimited());
    }
  }
  return text.Take();
}

std::string TextOf(const HeldParts::Context& context) {
  FieldText text;
  if (context.migration) text.Id(1, context.migration->uuid);
  text.Number(2, context.has_old_flavor ? 1 : 0).Number(3, context.has_new_flavor ? 1 : 0);
  return text.Names(4, context.before).Names(5, context.after).Take() + "}";
}

}  // namespace

std::vector<std::string> FaultyRecords(const Records& records) {
  std::vector<std::string> faults;
  const auto add = [&](absl::string_view kind, const auto& record) {
    const std::string fault = FaultOf(*record);
    if (!fault.empty()) {
      faults.push_back(
          absl::StrCat("the record of ", kind, " ", record->id.ToString(), " ", fault));
    }
    return faults.size() < kFaultsMax;
  };
  records.instances().ForEach(
      [&](InstanceId, const InstancePtr& record) { return add("instance", record); });
  records.migrations().ForEach(
      [&](MigrationId, const MigrationPtr& record) { return add("migration", record); });
  return faults;
}

std::string TextOf(const InstanceRecord& instance) {
  const HeldParts& held = HeldOf(instance);
  FieldText text;
  text.Id(1, instance.id.uuid).Number(2, instance.generation.value).Text(3, instance.name);
  text.Text(4, instance.project).Text(5, instance.user).Text(6, instance.host);
  text.Id(7, instance.node).Text(8, instance.vm_state).Text(9, instance.task_state);
  text.Text(10, instance.flavor_id).Number(11, instance.flavor.vcpus);
  text.Number(12, instance.flavor.memory_mib).Number(13, instance.flavor.root_disk_gib);
  text.Number(14, instance.flavor.ephemeral_disk_gib).Number(15, instance.flavor.swap_mib);
  text.Micros(16, instance.created_at).Micros(17, instance.updated_at);
  if (instance.deleted_at) text.Micros(18, *instance.deleted_at);
  text.Names(19, held.own);
  if (held.context) text.Text(20, TextOf(*held.context));
  return text.Text(21, instance.body).Take();
}

std::string TextOf(const MigrationRecord& migration) {
  FieldText text;
  text.Id(1, migration.id.uuid).Number(2, migration.generation.value);
  text.Id(3, migration.instance.uuid).Number(4, static_cast<int>(migration.type));
  text.Text(5, migration.status).Text(6, migration.source_host).Id(7, migration.source_node);
  text.Text(8, migration.destination_host).Id(9, migration.destination_node);
  text.Text(10, migration.old_flavor_id).Text(11, migration.new_flavor_id);
  text.Micros(12, migration.created_at).Micros(13, migration.updated_at);
  return text.Text(14, migration.body).Take();
}

std::string StoredInstanceText(absl::string_view content) {
  return StoredText(content, kInstanceForm);
}

std::string StoredMigrationText(absl::string_view content) {
  return StoredText(content, kMigrationForm);
}

}  // namespace berth::placement
