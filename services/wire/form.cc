#include "services/wire/form.h"

#include <utility>

#include "absl/strings/match.h"

namespace berth::services {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

constexpr size_t kRequestIdMax = 128;
constexpr size_t kEchoBytesMax = 64;

// A place in a message, from the message on, and what is wrong there.
struct BadPlace {
  std::string path;
  absl::string_view why;
  std::string key;  // of the innermost map entry in which the place is; empty: it is in none
};

// The key of `entry` as text, if `entry` is an entry of a map and a request may well tell the key.
std::string KeyOfEntry(const Message& entry, const FieldDescriptor* map) {
  if (!map->is_map()) return "";
  const FieldDescriptor* const key = map->message_type()->map_key();
  if (key->type() != FieldDescriptor::TYPE_STRING) return "";
  std::string text = entry.GetReflection()->GetString(entry, key);
  return text.find('\0') == std::string::npos ? text : "";
}

// Returns the first string in `message` that contains the character U+0000, or the first group, which
// no message of ours has: its path has the number of the group's field. Nothing if there is neither.
std::optional<BadPlace> FindBad(const Message& message);

std::optional<BadPlace> FindBadInElement(const Message& message, const FieldDescriptor* field,
                                         int at) {
  const Reflection& reflection = *message.GetReflection();
  std::string scratch;
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const Message& inner = at < 0 ? reflection.GetMessage(message, field)
                                  : reflection.GetRepeatedMessage(message, field, at);
    std::optional<BadPlace> found = FindBad(inner);
    if (!found) return found;
    found->path = absl::StrCat(".", found->path);
    if (found->key.empty()) found->key = KeyOfEntry(inner, field);
    return found;
  }
  const std::string& text =
      at < 0 ? reflection.GetStringReference(message, field, &scratch)
             : reflection.GetRepeatedStringReference(message, field, at, &scratch);
  if (text.find('\0') == std::string::npos) return std::nullopt;
  return BadPlace{"", "must not contain the character U+0000", ""};
}

std::optional<BadPlace> FindBad(const Message& message) {
  const UnknownFieldSet& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).type() != UnknownField::TYPE_GROUP) continue;
    return BadPlace{absl::StrCat(unknown.field(i).number()), "must not be a group", ""};
  }
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool holds_text = field->type() == FieldDescriptor::TYPE_STRING ||
                            field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!holds_text) continue;
    const int count = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      std::optional<BadPlace> found =
          FindBadInElement(message, field, field->is_repeated() ? i : -1);
      if (!found) continue;
      const std::string index = field->is_repeated() ? absl::StrCat("[", i, "]") : "";
      found->path.insert(0, absl::StrCat(field->name(), index));
      return found;
    }
  }
  return std::nullopt;
}

bool HoldsUuids(const FieldDescriptor& field) {
  return field.type() == FieldDescriptor::TYPE_STRING &&
         (absl::EndsWith(field.name(), "uuid") || absl::EndsWith(field.name(), "uuids"));
}

absl::StatusOr<std::string> CanonicalOf(const std::string& field, const std::string& text) {
  const std::optional<placement::Uuid> uuid = placement::Uuid::Parse(text);
  if (!uuid) return InvalidField(field, "is not a uuid");
  return uuid->ToString();
}

absl::Status MakeElementCanonical(const std::string& path, const FieldDescriptor* field, int at,
                                  Message* message) {
  const Reflection& reflection = *message->GetReflection();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return MakeUuidsCanonical(path, at < 0 ? reflection.MutableMessage(message, field)
                                           : reflection.MutableRepeatedMessage(message, field, at));
  }
  if (at < 0) {
    const std::string text = reflection.GetString(*message, field);
    if (text.empty()) return absl::OkStatus();
    BERTH_ASSIGN_OR_RETURN(std::string canonical, CanonicalOf(path, text));
    reflection.SetString(message, field, std::move(canonical));
  } else {
    BERTH_ASSIGN_OR_RETURN(std::string canonical,
                           CanonicalOf(path, reflection.GetRepeatedString(*message, field, at)));
    reflection.SetRepeatedString(message, field, at, std::move(canonical));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status InvalidField(absl::string_view field, absl::string_view why) {
  return placement::Refuse(absl::StatusCode::kInvalidArgument, "INVALID_FIELD",
                           absl::StrCat(field, " ", why), {{{"field", std::string(field)}}});
}

absl::Status CheckText(const Message& message) {
  const std::optional<BadPlace> found = FindBad(message);
  if (!found) return absl::OkStatus();
  if (found->key.empty()) return InvalidField(found->path, found->why);
  return placement::Refuse(absl::StatusCode::kInvalidArgument, "INVALID_FIELD",
                           absl::StrCat(found->path, ", of key ", found->key, ", ", found->why),
                           {{{"field", found->path}, {"key", found->key}}});
}

absl::Status CheckRequestId(absl::string_view request_id) {
  const bool printable = std::all_of(request_id.begin(), request_id.end(),
                                     [](char c) { return c >= ' ' && c <= '~'; });
  if (printable && request_id.size() <= kRequestIdMax) return absl::OkStatus();
  return InvalidField("request_id", "must have 1 to 128 printable ASCII characters");
}

absl::Status MakeUuidsCanonical(const std::string& path, Message* message) {
  std::vector<const FieldDescriptor*> fields;
  message->GetReflection()->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool may_hold =
        HoldsUuids(*field) ||
        (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_map());
    if (!may_hold) continue;
    const std::string at = absl::StrCat(path, ".", field->name());
    if (!field->is_repeated()) {
      BERTH_RETURN_IF_ERROR(MakeElementCanonical(at, field, -1, message));
      continue;
    }
    const int count = message->GetReflection()->FieldSize(*message, field);
    for (int i = 0; i < count; ++i) {
      BERTH_RETURN_IF_ERROR(MakeElementCanonical(absl::StrCat(at, "[", i, "]"), field, i, message));
    }
  }
  return absl::OkStatus();
}

std::string EchoOf(const std::string& text) {
  if (const auto uuid = placement::Uuid::Parse(text)) return uuid->ToString();
  return text.size() <= kEchoBytesMax ? text : "";
}

placement::Revision RevisionOf(const pb::Revision& revision) {
  return {revision.epoch(), revision.number(), revision.batch()};
}

void SetRevision(const placement::Revision& revision, pb::Revision* to) {
  to->set_epoch(revision.epoch);
  to->set_number(revision.number);
  if (revision.batch != 0) to->set_batch(revision.batch);
}

void SetDuration(absl::Duration duration, google::protobuf::Duration* to) {
  to->set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  to->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(duration)));
}

void SetTime(absl::Time time, google::protobuf::Timestamp* to) {
  const int64_t seconds = absl::ToUnixSeconds(time);
  to->set_seconds(seconds);
  to->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
}

absl::StatusOr<absl::Time> TimeOf(absl::string_view field,
                                  const google::protobuf::Timestamp& time) {
  constexpr int64_t kSecondsMin = -62'135'596'800;
  constexpr int64_t kSecondsMax = 253'402'300'799;
  if (time.seconds() < kSecondsMin || time.seconds() > kSecondsMax || time.nanos() < 0 ||
      time.nanos() > 999'999'999) {
    return InvalidField(field, "must be a time in the years 1 to 9999");
  }
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

absl::Duration DurationOf(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

std::vector<std::string> TraitNames(const placement::Catalog& catalog,
                                    const std::vector<placement::TraitId>& traits) {
  std::vector<std::string> names;
  for (const placement::TraitId trait : traits) {
    if (const std::string* name = catalog.traits.FindName(trait)) names.push_back(*name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

const std::string* ClassName(const placement::Catalog& catalog, placement::ClassId resource_class) {
  return catalog.classes.FindName(resource_class);
}

}  // namespace berth::services
