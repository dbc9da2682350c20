#include "tracker/devices/properties.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace berth::tracker {
namespace {

bool FitsValue(const PropertyValue& offered, const PropertyValue& wanted) {
  const auto* const offered_list = std::get_if<std::vector<std::string>>(&offered);
  const auto* const wanted_list = std::get_if<std::vector<std::string>>(&wanted);
  if ((offered_list == nullptr) != (wanted_list == nullptr)) return false;
  if (wanted_list == nullptr) {
    return absl::EqualsIgnoreCase(std::get<std::string>(offered), std::get<std::string>(wanted));
  }
  return std::all_of(wanted_list->begin(), wanted_list->end(), [&](const std::string& item) {
    return std::find(offered_list->begin(), offered_list->end(), item) != offered_list->end();
  });
}

}  // namespace

absl::string_view TextOf(const DeviceProperties& properties, absl::string_view key) {
  const auto found = properties.find(std::string(key));
  if (found == properties.end()) return "";
  const auto* const text = std::get_if<std::string>(&found->second);
  return text == nullptr ? absl::string_view() : absl::string_view(*text);
}

std::optional<bool> BooleanOf(absl::string_view text) {
  const std::string word = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
  for (const absl::string_view yes : {"1", "t", "true", "on", "y", "yes"}) {
    if (word == yes) return true;
  }
  for (const absl::string_view no : {"0", "f", "false", "off", "n", "no"}) {
    if (word == no) return false;
  }
  return std::nullopt;
}

bool HasProperties(const DeviceProperties& offered, const DeviceProperties& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& property) {
    const std::string& key = property.first;
    if (key == "resource_class" || key == "traits" || key == "rp_uuids") return true;
    const auto found = offered.find(key);
    return found != offered.end() && FitsValue(found->second, property.second);
  });
}

}  // namespace berth::tracker
