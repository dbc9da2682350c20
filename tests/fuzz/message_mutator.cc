#include "tests/fuzz/message_mutator.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace berth::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;

constexpr int kDepthMax = 6;
constexpr int kCopies = 3000;                // of one element of a list
constexpr size_t kCopiedBytesMax = 1 << 19;  // all of them together

constexpr int64_t kNumbers[] = {0,
                                1,
                                2,
                                3,
                                4,
                                8,
                                10,
                                16,
                                -1,
                                1024,
                                std::numeric_limits<int32_t>::max(),
                                std::numeric_limits<int32_t>::max() + int64_t{1},
                                std::numeric_limits<int64_t>::max(),
                                std::numeric_limits<int64_t>::min()};
constexpr double kFractions[] = {0,      1,
                                 16,     0.5,
                                 -1,     1e-9,
                                 1e308,  std::numeric_limits<double>::infinity(),
                                 1e-320, std::numeric_limits<double>::quiet_NaN()};
constexpr int kEnums[] = {-1, 99, std::numeric_limits<int32_t>::max()};

bool IsText(const FieldDescriptor* field) {
  return field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
}
bool IsMessage(const FieldDescriptor* field) {
  return field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

}  // namespace

const std::vector<std::string>& OddTexts() {
  static const auto* const kTexts =
      new std::vector<std::string>{"",
                                   std::string(1, '\0'),
                                   std::string("p\0", 2),
                                   std::string(128 << 10, 'A'),
                                   "\n",
                                   "\x7f",
                                   "\xc3\xa4",
                                   "not a uuid",
                                   "00000000-0000-0000-0000-000000000000",
                                   "AAAAAAAA-0000-4000-8000-00000000000A"};
  return *kTexts;
}

std::vector<std::string> FormsOf(const std::string& uuid) {
  return {absl::AsciiStrToUpper(uuid),
          absl::StrCat("{", uuid, "}"),
          absl::StrReplaceAll(uuid, {{"-", ""}}),
          absl::StrCat("urn:uuid:", uuid),
          uuid + std::string(1, '\0'),
          absl::StrCat(uuid, " "),
          "00000000-0000-0000-0000-000000000000"};
}

bool IsUuid(const std::string& text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash ? text[i] != '-' : !absl::ascii_isxdigit(text[i])) return false;
  }
  return true;
}

// Adds those present fields of `message` and of the messages in it for which `wants` says yes.
template <typename Predicate>
void MessageMutator::Collect(Message* message, Predicate wants, std::vector<Place>* found) {
  const Reflection* reflection = message->GetReflection();
  std::vector<const Field*> present;
  reflection->ListFields(*message, &present);
  for (const Field* field : present) {
    const int size = field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
    for (int i = 0; i < size; ++i) {
      const Place place{message, field, field->is_repeated() ? i : -1};
      if (wants(place)) found->push_back(place);
      if (!IsMessage(field)) continue;
      Collect(field->is_repeated() ? reflection->MutableRepeatedMessage(message, field, i)
                                   : reflection->MutableMessage(message, field),
              wants, found);
    }
  }
}

std::string MessageMutator::TextAt(const Place& place) {
  const Reflection* reflection = place.message->GetReflection();
  return place.index < 0 ? reflection->GetString(*place.message, place.field)
                         : reflection->GetRepeatedString(*place.message, place.field, place.index);
}

void MessageMutator::PutText(const Place& place, const std::string& text) {
  const Reflection* reflection = place.message->GetReflection();
  if (place.index < 0) return reflection->SetString(place.message, place.field, text);
  reflection->SetRepeatedString(place.message, place.field, place.index, text);
}

bool MessageMutator::HoldsUuid(const Place& place) {
  // The id of an instance's claim begins with the uuid of the instance.
  return IsText(place.field) && IsUuid(TextAt(place).substr(0, 36));
}

bool MessageMutator::DisguiseUuid(Message* message) {
  std::vector<Place> places;
  Collect(message, HoldsUuid, &places);
  if (places.empty()) return false;
  const Place& place = places[Below(places.size())];
  const std::string text = TextAt(place);
  const std::vector<std::string> forms = FormsOf(text.substr(0, 36));
  // The upper-case form is the one that a reader most easily takes for another uuid.
  const std::string& form = forms[Below(2) == 0 ? 0 : Below(forms.size())];
  PutText(place, form + text.substr(36));
  return true;
}

bool MessageMutator::SpoilText(Message* message) {
  std::vector<Place> places;
  Collect(
      message, [](const Place& place) { return IsText(place.field); }, &places);
  if (places.empty()) return false;
  const Place& place = places[Below(places.size())];
  const std::vector<std::string>& texts = Below(2) == 0 ? WordsFor(place.field) : OddTexts();
  PutText(place, texts[Below(texts.size())]);
  return true;
}

bool MessageMutator::SpoilNumber(Message* message) {
  std::vector<Place> places;
  const auto is_number = [](const Place& place) {
    return !IsText(place.field) && !IsMessage(place.field);
  };
  Collect(message, is_number, &places);
  if (places.empty()) return false;
  const auto [inner, field, index] = places[Below(places.size())];
  const Reflection* reflection = inner->GetReflection();
  const int64_t number = OddNumber();
  const auto number32 = static_cast<int32_t>(number);
  const bool is_32 = field->cpp_type() == Field::CPPTYPE_INT32;
  const bool is_64 = field->cpp_type() == Field::CPPTYPE_INT64;
  if (index >= 0) {
    if (is_32) reflection->SetRepeatedInt32(inner, field, index, number32);
    if (is_64) reflection->SetRepeatedInt64(inner, field, index, number);
  } else if (is_32) {
    reflection->SetInt32(inner, field, number32);
  } else if (is_64) {
    reflection->SetInt64(inner, field, number);
  } else {
    Set(inner, field);
  }
  return true;
}

bool MessageMutator::CopyElements(Message* message) {
  std::vector<Place> places;
  const auto is_first = [](const Place& place) { return place.index == 0; };
  Collect(message, is_first, &places);
  if (places.empty()) return false;
  const Place& place = places[Below(places.size())];
  const Reflection* reflection = place.message->GetReflection();
  size_t bytes = 0;
  for (int i = 0; i < kCopies && bytes < kCopiedBytesMax; ++i) {
    if (IsMessage(place.field)) {
      const Message& first = reflection->GetRepeatedMessage(*place.message, place.field, 0);
      bytes += first.ByteSizeLong() + 2;
      if (place.field->is_map() && i > 1) break;  // equal keys are one entry
      reflection->AddMessage(place.message, place.field)
          ->CopyFrom(reflection->GetRepeatedMessage(*place.message, place.field, 0));
    } else {
      bytes += IsText(place.field) ? TextAt(place).size() + 2 : 10;
      IsText(place.field) ? reflection->AddString(place.message, place.field, TextAt(place))
                          : Add(place.message, place.field);
    }
  }
  return true;
}

void MessageMutator::Spoil(Message* message) {
  for (size_t left = 1 + Below(3); left > 0; --left) {
    const size_t choice = Below(16);
    const bool done = choice < 5    ? DisguiseUuid(message)
                      : choice < 9  ? SpoilText(message)
                      : choice < 12 ? SpoilNumber(message)
                      : choice < 13 ? CopyElements(message)
                                    : false;
    if (!done) Change(message);
  }
}

void MessageMutator::ChangeAt(Message* message, int depth) {
  const auto* descriptor = message->GetDescriptor();
  if (descriptor->field_count() == 0) return;
  const Field* field = descriptor->field(static_cast<int>(Below(descriptor->field_count())));
  // Rather a field that is there than one that is not: there it goes deeper.
  std::vector<const Field*> present;
  message->GetReflection()->ListFields(*message, &present);
  if (!present.empty() && Below(4) > 0) field = present[Below(present.size())];
  if (field->is_repeated()) {
    ChangeRepeated(message, field, depth);
  } else if (Below(8) == 0) {
    message->GetReflection()->ClearField(message, field);
  } else if (IsMessage(field)) {
    const bool is_new = !message->GetReflection()->HasField(*message, field);
    Message* inner = message->GetReflection()->MutableMessage(message, field);
    if (depth >= kDepthMax) return;
    is_new ? Fill(inner, depth + 1) : ChangeAt(inner, depth + 1);
  } else {
    Set(message, field);
  }
}

// Gives a new message most of what it can hold.
void MessageMutator::Fill(Message* message, int depth) {
  if (depth > kDepthMax) return;
  const auto* descriptor = message->GetDescriptor();
  const int count = descriptor->field_count();
  if (count > 0 && descriptor->field(0)->real_containing_oneof() != nullptr) {
    return FillField(message, descriptor->field(static_cast<int>(Below(count))), depth);
  }
  for (int i = 0; i < count; ++i) {
    if (Below(3) > 0) FillField(message, descriptor->field(i), depth);
  }
}

void MessageMutator::FillField(Message* message, const Field* field, int depth) {
  const Reflection* reflection = message->GetReflection();
  if (field->is_repeated()) {
    for (size_t i = 0; i < Below(3); ++i) {
      if (!IsMessage(field)) {
        Add(message, field);
      } else {
        Fill(reflection->AddMessage(message, field), depth + 1);
      }
    }
  } else if (IsMessage(field)) {
    Fill(reflection->MutableMessage(message, field), depth + 1);
  } else {
    Set(message, field);
  }
}

void MessageMutator::ChangeRepeated(Message* message, const Field* field, int depth) {
  const Reflection* reflection = message->GetReflection();
  const int size = reflection->FieldSize(*message, field);
  const size_t choice = Below(6);
  if (size > 0 && choice == 0) return reflection->RemoveLast(message, field);
  if (size > 1 && choice == 1) {
    return reflection->SwapElements(message, field, static_cast<int>(Below(size)),
                                    static_cast<int>(Below(size)));
  }
  if (size > 0 && IsMessage(field) && (choice > 3 || size >= repeated_max_)) {
    if (depth >= kDepthMax) return;
    const int at = static_cast<int>(Below(size));
    return ChangeAt(reflection->MutableRepeatedMessage(message, field, at), depth + 1);
  }
  if (size >= repeated_max_) return reflection->RemoveLast(message, field);
  if (IsMessage(field)) return Fill(reflection->AddMessage(message, field), depth + 1);
  Add(message, field);
}

void MessageMutator::Set(Message* message, const Field* field) {
  const Reflection* reflection = message->GetReflection();
  switch (field->cpp_type()) {
    case Field::CPPTYPE_STRING:
      return reflection->SetString(message, field, Text(field));
    case Field::CPPTYPE_INT64:
      return reflection->SetInt64(message, field, Number());
    case Field::CPPTYPE_INT32:
      return reflection->SetInt32(message, field, static_cast<int32_t>(Number()));
    case Field::CPPTYPE_UINT64:
      return reflection->SetUInt64(message, field, static_cast<uint64_t>(Number()));
    case Field::CPPTYPE_UINT32:
      return reflection->SetUInt32(message, field, static_cast<uint32_t>(Number()));
    case Field::CPPTYPE_DOUBLE:
      return reflection->SetDouble(message, field, Fraction());
    case Field::CPPTYPE_FLOAT:
      return reflection->SetFloat(message, field, static_cast<float>(Fraction()));
    case Field::CPPTYPE_BOOL:
      return reflection->SetBool(message, field, Below(2) == 0);
    case Field::CPPTYPE_ENUM:
      return reflection->SetEnumValue(message, field, Enum());
    default:
      return;
  }
}

void MessageMutator::Add(Message* message, const Field* field) {
  const Reflection* reflection = message->GetReflection();
  if (IsText(field)) {
    reflection->AddString(message, field, Text(field));
  } else if (field->cpp_type() == Field::CPPTYPE_ENUM) {
    reflection->AddEnumValue(message, field, Enum());
  } else if (field->cpp_type() == Field::CPPTYPE_INT32) {
    reflection->AddInt32(message, field, static_cast<int32_t>(Number()));
  } else if (field->cpp_type() == Field::CPPTYPE_INT64) {
    reflection->AddInt64(message, field, Number());
  }
}

// What `field` most likely wants.
const std::vector<std::string>& MessageMutator::WordsFor(const Field* field) const {
  const std::string where = absl::StrCat(field->containing_type()->name(), ".", field->name());
  const auto says = [&](const char* word) { return absl::StrContains(where, word); };
  if (says("claim_id") && !words_->claims.empty()) return words_->claims;
  if (says("uuid") || says("in_tree") || says("claim_id")) return words_->ids;
  if (says("host") && !words_->hosts.empty()) return words_->hosts;
  if (says("suffix")) return words_->suffixes;
  if (says("Trait") || says("trait") || says("any_of")) return words_->traits;
  if (absl::EndsWith(where, ".key") || says("class")) return words_->classes;
  return words_->any;
}

std::string MessageMutator::Text(const Field* field) {
  const std::vector<std::string>& texts = Below(8) == 0 ? words_->any : WordsFor(field);
  return texts.empty() ? "" : texts[Below(texts.size())];
}

int64_t MessageMutator::Number() {
  return Below(4) == 0 ? OddNumber() : static_cast<int64_t>(Below(30));
}
int64_t MessageMutator::OddNumber() { return kNumbers[Below(std::size(kNumbers))]; }
double MessageMutator::Fraction() { return kFractions[Below(std::size(kFractions))]; }
int MessageMutator::Enum() {
  return Below(8) == 0 ? kEnums[Below(std::size(kEnums))] : static_cast<int>(Below(6));
}

}  // namespace berth::fuzz
