#include "tracker/devices/option_json.h"

#include "absl/strings/str_cat.h"

namespace berth::tracker {
namespace {

using OptionJson = nlohmann::json;

// Finds out where a text stops being JSON. Only an event handler learns this from the parser.
class ErrorPosition final : public nlohmann::json_sax<OptionJson> {
 public:
  size_t position() const { return position_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    position_ = position;
    return false;
  }

 private:
  size_t position_ = 0;
};

std::string TextOfScalar(const OptionJson& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

absl::Status WrongOption(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

absl::StatusOr<nlohmann::json> ParseOptionJson(absl::string_view where, const std::string& text) {
  OptionJson parsed = OptionJson::parse(text, nullptr, false);
  if (!parsed.is_discarded()) return parsed;
  ErrorPosition error;
  OptionJson::sax_parse(text, &error);
  return WrongOption(
      where, absl::StrCat("is not valid JSON: there is an error at byte ", error.position()));
}

absl::StatusOr<PropertyValue> PropertyOfJson(absl::string_view where, const OptionJson& value) {
  if (value.is_object()) return WrongOption(where, "must be a JSON string or array");
  if (!value.is_array()) return PropertyValue(TextOfScalar(value));
  std::vector<std::string> list;
  for (const OptionJson& item : value) {
    if (item.is_structured() || item.is_null())
      return WrongOption(where, "must be a JSON array of strings");
    list.push_back(TextOfScalar(item));
  }
  return PropertyValue(std::move(list));
}

}  // namespace berth::tracker
