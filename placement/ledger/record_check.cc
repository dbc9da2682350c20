#include "placement/ledger/record_check.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "placement/ground/sha256.h"

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
    }
    if (field.type() != UnknownField::TYPE_LENGTH_DELIMITED) continue;
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

// To protobuf, a field of another type than record.proto says is not there.
bool HasMessage(const Fields& fields, int number) { return !TextsAt(fields, number).empty(); }

bool Has(const Fields& fields, int number) {
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).number() == number) return true;
  }
  return false;
}

// The numbers of the fields of a record's message that its index has.
constexpr int kInstanceNumbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15, 16, 21};
constexpr int kFlavorField = 10;
constexpr int kFlavorNumbers[] = {1, 2, 3, 4, 5, 6};
constexpr int kMigrationNumbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};

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

bool AreSame(const PartNames& names, const std::set<std::string>& wanted) {
  const std::vector<absl::string_view> list = names.List();
  return std::equal(list.begin(), list.end(), wanted.begin(), wanted.end());
}

// Say whether the stored bytes of the record could not be read; empty: they could.
std::string ReadFault(const InstanceRecord& instance) {
  return instance.vm_state == kUnreadable ? "cannot be read" : "";
}
std::string ReadFault(const MigrationRecord& migration) {
  return migration.status == kUnreadable ? "cannot be read" : "";
}
std::string ReadFault(const ServerGroup& group) {
  return group.project.empty() ? "cannot be read" : "";
}
std::string ReadFault(const Aggregate& aggregate) {
  return aggregate.name.empty() ? "cannot be read" : "";
}

// Say why the record is faulty; empty: it is not.
std::string FaultOf(const InstanceRecord& instance) {
  if (instance.vm_state == kUnreadable) return ReadFault(instance);
  const std::unique_ptr<const Fields> body = FieldsOf(instance.body);
  if (!body) return "has a body that cannot be read";
  const std::unique_ptr<const Fields> flavor = FieldsOf(TextAt(*body, kFlavorField));
  if (!flavor || HasAny(*body, kInstanceNumbers) || HasAny(*flavor, kFlavorNumbers)) {
    return "has a field of its index in its body";
  }
  const HeldParts& held = HeldOf(instance);
  const std::string context = TextAt(*body, kContext);
  bool agrees = AreSame(held.own, PartsIn(*body, kOwn)) &&
                (held.context != nullptr) == HasMessage(*body, kContext);
  if (agrees && held.context != nullptr) {
    const std::unique_ptr<const Fields> fields = FieldsOf(context);
    agrees = fields != nullptr && AreSame(held.context->before, PartsIn(*fields, kBefore)) &&
             AreSame(held.context->after, PartsIn(*fields, kAfter)) &&
             held.context->has_old_flavor == HasMessage(*fields, 2) &&
             held.context->has_new_flavor == HasMessage(*fields, 3);
  }
  return agrees ? "" : "has other CPUs, devices or units in its index than in its body";
}

std::string FaultOf(const MigrationRecord& migration) {
  if (migration.status == kUnreadable) return ReadFault(migration);
  const std::unique_ptr<const Fields> body = FieldsOf(migration.body);
  if (!body) return "has a body that cannot be read";
  return HasAny(*body, kMigrationNumbers) ? "has a field of its index in its body" : "";
}

std::string FaultOf(const ServerGroup& group) { return ReadFault(group); }
std::string FaultOf(const Aggregate& aggregate) { return ReadFault(aggregate); }

// One text for each record of which `fault_of` says something.
template <typename FaultOfRecord>
std::vector<std::string> TextsOf(const State& state, FaultOfRecord fault_of) {
  std::vector<std::string> faults;
  const auto add = [&](absl::string_view kind, const auto& record) {
    if (faults.size() >= kFaultsMax) return false;
    const std::string fault = fault_of(*record);
    if (!fault.empty()) {
      faults.push_back(
          absl::StrCat("the record of ", kind, " ", record->id.ToString(), " ", fault));
    }
    return true;
  };
  state.aggregates().by_id().ForEach(
      [&](AggregateId, const AggregatePtr& aggregate) { return add("aggregate", aggregate); });
  const Records& records = state.records();
  records.groups().ForEach(
      [&](ServerGroupId, const ServerGroupPtr& group) { return add("server group", group); });
  records.instances().ForEach(
      [&](InstanceId, const InstancePtr& record) { return add("instance", record); });
  records.migrations().ForEach(
      [&](MigrationId, const MigrationPtr& record) { return add("migration", record); });
  return faults;
}

// The numbers of the fields that are times. Each kind of record has its own.
constexpr int kInstanceTimes[] = {14, 15, 16};
constexpr int kMigrationTimes[] = {9, 10};
constexpr int kGroupTimes[] = {8, 9};
constexpr int kAggregateTimes[] = {5, 6};
// The fields of the flavor are told with this added to their numbers.
constexpr int kFlavorAt = 1000;

// Tells fields as `<number>=<value>`, with semicolons between, in one order. Of a long text there is only the digest.
class FieldText {
 public:
  // Number, Text and Id leave out a field without a value, as a message does.
  FieldText& Number(int field, int64_t value) { return value == 0 ? *this : Add(field, value); }
  FieldText& Text(int field, absl::string_view value) {
    return value.empty() ? *this : AddText(field, value);
  }
  template <typename IdType>
  FieldText& Id(int field, const std::optional<IdType>& id) {
    return Text(field, id ? id->ToString() : "");
  }
  // An entry of a map of texts.
  FieldText& Entry(int field, const std::string& key, const std::string& value) {
    Fields entry;
    entry.AddLengthDelimited(1, key);
    entry.AddLengthDelimited(2, value);
    std::string bytes;
    entry.SerializeToString(&bytes);
    return AddText(field, bytes);
  }
  FieldText& Micros(int field, absl::Time time) { return Add(field, absl::ToUnixMicros(time)); }
  // Adds all fields of a message. `times`: the numbers of those that are times. `flavor`: the number
  // of the flavor; 0: it has none.
  FieldText& All(absl::string_view message, absl::Span<const int> times, int flavor, int at = 0) {
    const std::unique_ptr<const Fields> fields = FieldsOf(message);
    if (!fields) return AddText(0, "no message");
    for (int i = 0; i < fields->field_count(); ++i) {
      const UnknownField& field = fields->field(i);
      const int number = at + field.number();
      if (field.type() == UnknownField::TYPE_VARINT) {
        Add(number, static_cast<int64_t>(field.varint()));
      } else if (field.type() != UnknownField::TYPE_LENGTH_DELIMITED) {
        AddText(number, "a value of another type");
      } else if (std::find(times.begin(), times.end(), number) != times.end()) {
        Add(number, MicrosIn(field.length_delimited()));
      } else if (number == flavor) {
        All(field.length_delimited(), {}, 0, kFlavorAt);
      } else {
        AddText(number, field.length_delimited());
      }
    }
    return *this;
  }
  std::string Take() {
    std::sort(fields_.begin(), fields_.end());
    return absl::StrJoin(fields_, ";");
  }

 private:
  static int64_t MicrosIn(absl::string_view timestamp) {
    const std::unique_ptr<const Fields> fields = FieldsOf(timestamp);
    int64_t micros = 0;
    for (int i = 0; fields && i < fields->field_count(); ++i) {
      if (fields->field(i).type() != UnknownField::TYPE_VARINT) continue;
      const auto value = static_cast<int64_t>(fields->field(i).varint());
      micros += fields->field(i).number() == 1 ? value * 1'000'000 : value / 1'000;
    }
    return micros;
  }
  FieldText& Add(int field, int64_t value) {
    fields_.push_back(absl::StrCat(field, "=", value));
    return *this;
  }
  FieldText& AddText(int field, absl::string_view value) {
    const bool is_long = value.size() > kLongText;
    fields_.push_back(absl::StrCat(
        field, "=", is_long ? absl::BytesToHexString(Sha256(value)) : absl::CEscape(value)));
    return *this;
  }

  std::vector<std::string> fields_;
};

}  // namespace

std::vector<std::string> UnreadableRecords(const State& state) {
  return TextsOf(state, [](const auto& record) { return ReadFault(record); });
}

std::vector<std::string> FaultyRecords(const State& state) {
  return TextsOf(state, [](const auto& record) { return FaultOf(record); });
}

std::string TextOf(const InstanceRecord& instance) {
  FieldText text;
  text.Text(1, instance.id.ToString()).Number(2, instance.generation.value);
  text.Text(3, instance.name).Text(4, instance.project).Text(5, instance.user);
  text.Text(6, instance.host).Id(7, instance.node);
  text.Text(8, instance.vm_state).Text(9, instance.task_state);
  text.Text(kFlavorAt + 1, instance.flavor_id).Number(kFlavorAt + 2, instance.flavor.vcpus);
  text.Number(kFlavorAt + 3, instance.flavor.memory_mib);
  text.Number(kFlavorAt + 4, instance.flavor.root_disk_gib);
  text.Number(kFlavorAt + 5, instance.flavor.ephemeral_disk_gib);
  text.Number(kFlavorAt + 6, instance.flavor.swap_mib);
  text.Micros(14, instance.created_at).Micros(15, instance.updated_at);
  if (instance.deleted_at) text.Micros(16, *instance.deleted_at);
  text.Id(21, instance.group);
  return text.All(instance.body, kInstanceTimes, kFlavorField).Take();
}

std::string TextOf(const MigrationRecord& migration) {
  FieldText text;
  text.Text(1, migration.id.ToString()).Text(2, migration.instance.ToString());
  text.Number(3, static_cast<int>(migration.type)).Text(4, migration.status);
  text.Text(5, migration.source_host).Id(6, migration.source_node);
  text.Text(7, migration.destination_host).Id(8, migration.destination_node);
  text.Micros(9, migration.created_at).Micros(10, migration.updated_at);
  text.Text(11, migration.old_flavor_id).Text(12, migration.new_flavor_id);
  text.Number(13, migration.generation.value);
  return text.All(migration.body, kMigrationTimes, 0).Take();
}

std::string TextOf(const ServerGroup& group) {
  FieldText text;
  text.Text(1, group.id.ToString()).Number(2, group.generation.value);
  text.Text(3, group.name).Text(4, group.project).Text(5, group.user);
  text.Number(6, static_cast<int>(group.policy)).Number(7, group.max_server_per_host.value_or(0));
  return text.Micros(8, group.created_at).Micros(9, group.updated_at).Take();
}

std::string TextOf(const Aggregate& aggregate) {
  FieldText text;
  text.Text(1, aggregate.id.ToString()).Number(2, aggregate.generation.value);
  text.Text(3, aggregate.name);
  for (const auto& [key, value] : aggregate.metadata) text.Entry(4, key, value);
  return text.Micros(5, aggregate.created_at).Micros(6, aggregate.updated_at).Take();
}

std::string StoredInstanceText(absl::string_view content) {
  return FieldText().All(content, kInstanceTimes, kFlavorField).Take();
}

std::string StoredMigrationText(absl::string_view content) {
  return FieldText().All(content, kMigrationTimes, 0).Take();
}

std::string StoredServerGroupText(absl::string_view content) {
  return FieldText().All(content, kGroupTimes, 0).Take();
}

std::string StoredAggregateText(absl::string_view content) {
  return FieldText().All(content, kAggregateTimes, 0).Take();
}

}  // namespace berth::placement
