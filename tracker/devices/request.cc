#include "tracker/devices/request.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tracker/devices/option_json.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {
namespace {

using AliasJson = nlohmann::json;

constexpr size_t kNameBytesMax = 256;

// One definition of an alias. Definitions with the same name are combined into one alias later.
struct AliasDefinition {
  std::string name;
  DeviceNumaPolicy numa_policy = DeviceNumaPolicy::kLegacy;
  DeviceProperties properties;
};

bool IsFourHexDigits(const std::string& text) {
  if (text.size() != 4) return false;
  for (const char digit : text) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(digit))) return false;
  }
  return true;
}

absl::Status ReadAliasText(const std::string& key, const std::string& text,
                           AliasDefinition* definition) {
  if (key == "name") {
    definition->name = std::string(absl::StripAsciiWhitespace(text));
    if (text.size() <= kNameBytesMax) return absl::OkStatus();
    return absl::InvalidArgumentError("must have at most 256 bytes");
  }
  if (key == "numa_policy") {
    absl::StatusOr<DeviceNumaPolicy> policy = ParseDeviceNumaPolicy(text);
    if (policy.ok()) definition->numa_policy = *policy;
    return policy.status();
  }
  if (key == "vendor_id" || key == "product_id") {
    definition->properties[key] = text;
    if (IsFourHexDigits(text)) return absl::OkStatus();
    return absl::InvalidArgumentError("must be four hexadecimal digits such as 8086");
  }
  if (key == "device_type") {
    definition->properties["dev_type"] = text;
    if (text == "type-PCI" || text == "type-PF" || text == "type-VF") return absl::OkStatus();
    return absl::InvalidArgumentError("must be type-PCI, type-PF or type-VF");
  }
  if (key == "live_migratable") {
    const std::optional<bool> meaning = BooleanOf(text);
    definition->properties[key] = std::string(meaning.value_or(false) ? "true" : "false");
    if (meaning) return absl::OkStatus();
    return absl::InvalidArgumentError("must be true or false");
  }
  if (key == "resource_class" || key == "traits") {
    definition->properties[key] = text;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("there is no such key");
}

absl::StatusOr<AliasDefinition> ReadAlias(const std::string& where, const std::string& option) {
  BERTH_ASSIGN_OR_RETURN(AliasJson parsed, ParseOptionJson(where, option));
  if (!parsed.is_object()) return WrongOption(where, "must be a JSON object");
  AliasDefinition definition;
  for (const auto& [key, value] : parsed.items()) {
    const std::string place = absl::StrCat(where, ".", key);
    if (!value.is_string()) return WrongOption(place, "must be a JSON string");
    const absl::Status read = ReadAliasText(key, value.get<std::string>(), &definition);
    if (!read.ok()) return WrongOption(place, read.message());
  }
  if (definition.name.empty()) return WrongOption(absl::StrCat(where, ".name"), "is required");
  return definition;
}

}  // namespace

absl::StatusOr<DeviceNumaPolicy> ParseDeviceNumaPolicy(absl::string_view text) {
  for (const DeviceNumaPolicy policy : {DeviceNumaPolicy::kRequired, DeviceNumaPolicy::kPreferred,
                                        DeviceNumaPolicy::kLegacy, DeviceNumaPolicy::kSocket}) {
    if (DeviceNumaPolicyName(policy) == text) return policy;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("must be 'required', 'preferred', 'legacy' or 'socket', but is '", text, "'"));
}

absl::string_view DeviceNumaPolicyName(DeviceNumaPolicy policy) {
  switch (policy) {
    case DeviceNumaPolicy::kRequired:
      return "required";
    case DeviceNumaPolicy::kPreferred:
      return "preferred";
    case DeviceNumaPolicy::kLegacy:
      return "legacy";
    case DeviceNumaPolicy::kSocket:
      return "socket";
  }
  return "legacy";
}

absl::StatusOr<DeviceAliases> ParseDeviceAliases(const std::vector<std::string>& options) {
  DeviceAliases aliases;
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string where = absl::StrCat("alias[", i, "]");
    BERTH_ASSIGN_OR_RETURN(AliasDefinition definition, ReadAlias(where, options[i]));
    const auto [found, first] =
        aliases.emplace(definition.name, DeviceAlias{definition.numa_policy, {}});
    DeviceAlias& alias = found->second;
    if (alias.numa_policy != definition.numa_policy) {
      return WrongOption(
          absl::StrCat(where, ".numa_policy"),
          absl::StrCat("must be the same in all entries of alias ", definition.name));
    }
    if (!first &&
        TextOf(alias.alternatives[0], "dev_type") != TextOf(definition.properties, "dev_type")) {
      return WrongOption(
          absl::StrCat(where, ".device_type"),
          absl::StrCat("must be the same in all entries of alias ", definition.name));
    }
    alias.alternatives.push_back(std::move(definition.properties));
  }
  return aliases;
}

absl::StatusOr<std::vector<DeviceRequest>> RequestsOfFlavor(
    absl::string_view text, const DeviceAliases& aliases, std::optional<DeviceNumaPolicy> policy) {
  std::vector<DeviceRequest> requests;
  const std::vector<absl::string_view> items = absl::StrSplit(text, ',');
  if (items.size() > kDeviceRequestsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", items.size(), " items, more than ", kDeviceRequestsMax));
  }
  for (const absl::string_view item : items) {
    const std::vector<absl::string_view> halves = absl::StrSplit(item, ':');
    DeviceRequest request;
    if (halves.size() != 2 || absl::StrContains(halves[1], '+') ||
        !absl::SimpleAtoi(halves[1], &request.count) || request.count < 1 ||
        request.count > kRequestedDevicesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", item, "' is not valid: write ALIAS:COUNT, such as gpu:2, with at most ",
                       kRequestedDevicesMax, " devices"));
    }
    request.alias_name = std::string(absl::StripAsciiWhitespace(halves[0]));
    const auto alias = aliases.find(request.alias_name);
    if (alias == aliases.end()) {
      return absl::NotFoundError(
          absl::StrCat("there is no PCI alias '", request.alias_name, "' in the settings"));
    }
    request.alternatives = alias->second.alternatives;
    request.numa_policy = policy.value_or(alias->second.numa_policy);
    requests.push_back(std::move(request));
  }
  return requests;
}

absl::StatusOr<std::optional<DeviceNumaPolicy>> CombineDevicePolicies(absl::string_view flavor,
                                                                      absl::string_view image) {
  if (!flavor.empty() && !image.empty() && flavor != image) {
    return absl::InvalidArgumentError(absl::StrCat("the flavor asks for the PCI NUMA policy ",
                                                   flavor, ", but the image asks for ", image));
  }
  const absl::string_view asked = flavor.empty() ? image : flavor;
  if (asked.empty()) return std::optional<DeviceNumaPolicy>();
  BERTH_ASSIGN_OR_RETURN(DeviceNumaPolicy policy, ParseDeviceNumaPolicy(asked));
  return std::optional<DeviceNumaPolicy>(policy);
}

}  // namespace berth::tracker
