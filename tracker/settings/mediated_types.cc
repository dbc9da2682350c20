#include "tracker/settings/mediated_types.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {
namespace {

using TypeJson = nlohmann::json;

absl::Status WrongType(size_t at, absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("text ", at + 1, ": ", field, what));
}

// Whether `text` is an address like 0000:84:00.0, in lower case.
bool IsAddress(const std::string& text) {
  constexpr absl::string_view kForm = "xxxx:xx:xx.x";
  if (text.size() != kForm.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto letter = static_cast<unsigned char>(text[i]);
    const bool digit = absl::ascii_isxdigit(letter) && !absl::ascii_isupper(letter);
    if (kForm[i] == 'x' ? !digit : text[i] != kForm[i]) return false;
  }
  return true;
}

bool IsGpuClass(const std::string& name) {
  const bool letters = std::all_of(name.begin(), name.end(), [](unsigned char letter) {
    return absl::ascii_isupper(letter) || absl::ascii_isdigit(letter) || letter == '_';
  });
  return name == "VGPU" || (letters && absl::StartsWith(name, "CUSTOM_") && name.size() > 7);
}

absl::StatusOr<MediatedType> ReadType(size_t at, const TypeJson& json) {
  MediatedType type;
  for (const auto& [key, value] : json.items()) {
    if (key == "type" && value.is_string() && !value.get<std::string>().empty()) {
      type.type = value.get<std::string>();
    } else if (key == "addresses" && value.is_array()) {
      for (const TypeJson& address : value) {
        const std::string text = address.is_string() ? address.get<std::string>() : "";
        if (!IsAddress(text)) {
          return WrongType(at, key, " must have PCI addresses such as 0000:84:00.0");
        }
        type.addresses.insert(text);
      }
    } else if (key == "resource_class" && value.is_string() &&
               IsGpuClass(value.get<std::string>())) {
      type.resource_class = value.get<std::string>();
    } else if (key == "max_instances" && value.is_number_integer() && value.get<int64_t>() >= 1) {
      type.max_instances = value.get<int64_t>();
    } else {
      return WrongType(at, key,
                       " is not possible here: there are type (a text), addresses (a list of "
                       "texts), resource_class (VGPU or CUSTOM_...) and max_instances (from 1)");
    }
  }
  if (type.type.empty()) return WrongType(at, "type", " is missing");
  return type;
}

// Checks that no device is configured for two types. A type without addresses is for all devices
// that no type names, so there may be one such type.
absl::Status CheckTypes(const std::vector<MediatedType>& types) {
  std::map<std::string, std::string> type_by_address;
  for (size_t i = 0; i < types.size(); ++i) {
    for (size_t before = 0; before < i; ++before) {
      if (types[before].type == types[i].type)
        return WrongType(i, types[i].type, " is there twice");
    }
    std::set<std::string> addresses = types[i].addresses;
    if (addresses.empty()) addresses.insert("each device that no other text names");
    for (const std::string& address : addresses) {
      const auto [known, added] = type_by_address.emplace(address, types[i].type);
      if (added) continue;
      return WrongType(
          i, address,
          absl::StrCat(" is configured for two types: ", known->second, " and ", types[i].type));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<MediatedType>> ParseMediatedTypes(
    const std::vector<std::string>& texts) {
  std::vector<MediatedType> types;
  for (size_t i = 0; i < texts.size(); ++i) {
    const TypeJson json = TypeJson::parse(texts[i], nullptr, false);
    if (!json.is_object()) return WrongType(i, texts[i], " is not a JSON object");
    BERTH_ASSIGN_OR_RETURN(MediatedType type, ReadType(i, json));
    types.push_back(std::move(type));
  }
  BERTH_RETURN_IF_ERROR(CheckTypes(types));
  return types;
}

}  // namespace berth::tracker
