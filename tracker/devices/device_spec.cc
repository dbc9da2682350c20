#include "tracker/devices/device_spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tracker/devices/option_json.h"
#include "tracker/facts/version.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {
namespace {

using SpecJson = nlohmann::json;

constexpr absl::string_view kAnyId = "*";

absl::StatusOr<std::string> ParseSpecId(absl::string_view where, const SpecJson& value) {
  if (!value.is_string()) return WrongOption(where, "must be a JSON string");
  const std::string text = value.get<std::string>();
  if (text == kAnyId) return std::string();
  const std::optional<uint32_t> number = ParseHexNumber(text);
  if (!number) return WrongOption(where, absl::StrCat("'", text, "' is not a hexadecimal number"));
  if (*number > 0xFFFF)
    return WrongOption(where, absl::StrCat("'", text, "' is larger than FFFF (hexadecimal)"));
  return absl::StrFormat("%04x", *number);
}

absl::StatusOr<AddressPattern> ParseSpecAddress(const SpecJson& value) {
  if (value.is_string()) return AddressPattern::FromGlob(value.get<std::string>());
  if (!value.is_object()) return absl::InvalidArgumentError("must be a JSON string or object");
  std::array<std::optional<std::string>, 4> expressions;
  for (const auto& [key, expression] : value.items()) {
    if (!expression.is_string()) {
      return absl::InvalidArgumentError(absl::StrCat(key, " must be a JSON string"));
    }
    const std::array<absl::string_view, 4> names = {"domain", "bus", "slot", "function"};
    const auto name = std::find(names.begin(), names.end(), key);
    if (name != names.end()) expressions[name - names.begin()] = expression.get<std::string>();
  }
  return AddressPattern::FromExpressions(expressions);
}

// Replaces the value of `tag`, a boolean in a spelling that BooleanOf reads, by `true` or `false`.
absl::Status NormalizeBoolean(const char* tag, DeviceSpec* spec) {
  const auto found = spec->tags.find(tag);
  if (found == spec->tags.end()) return absl::OkStatus();
  const std::optional<bool> meaning = BooleanOf(TextOf(spec->tags, tag));
  if (!meaning) return WrongOption(absl::StrCat(spec->where, ".", tag), "must be true or false");
  found->second = std::string(*meaning ? "true" : "false");
  return absl::OkStatus();
}

absl::Status ReadTag(const std::string& key, const SpecJson& value, DeviceSpec* spec) {
  BERTH_ASSIGN_OR_RETURN(PropertyValue property,
                         PropertyOfJson(absl::StrCat(spec->where, ".", key), value));
  spec->tags.insert_or_assign(key, std::move(property));
  return absl::OkStatus();
}

absl::Status ReadSpecKey(const std::string& key, const SpecJson& value, DeviceSpec* spec) {
  const std::string where = absl::StrCat(spec->where, ".", key);
  if (key == "vendor_id" || key == "product_id") {
    BERTH_ASSIGN_OR_RETURN(std::string id, ParseSpecId(where, value));
    (key == "vendor_id" ? spec->vendor_id : spec->product_id) = std::move(id);
    return absl::OkStatus();
  }
  if (key == "devname") {
    if (!value.is_string()) return WrongOption(where, "must be a JSON string");
    if (!value.get<std::string>().empty()) spec->interface_name = value.get<std::string>();
    return absl::OkStatus();
  }
  if (key == "address") {
    absl::StatusOr<AddressPattern> address = ParseSpecAddress(value);
    if (!address.ok()) return WrongOption(where, address.status().message());
    spec->address = *std::move(address);
    return absl::OkStatus();
  }
  return ReadTag(key, value, spec);
}

absl::Status CheckLimits(const DeviceSpec& spec, const DeviceSpecLimits& limits) {
  if (spec.one_time_use() && !limits.report_in_placement) {
    return absl::FailedPreconditionError(absl::StrCat(
        spec.where, ".one_time_use: is only allowed together with report_in_placement"));
  }
  if (spec.Says("live_migratable") && !limits.live_migration) {
    return absl::FailedPreconditionError(absl::StrCat(
        spec.where, ".live_migratable: this needs libvirt 10.0.0 and QEMU 8.2.2, or newer"));
  }
  return absl::OkStatus();
}

absl::StatusOr<DeviceSpec> ReadSpec(const std::string& where, const SpecJson& entry,
                                    const DeviceSpecLimits& limits) {
  if (!entry.is_object()) return WrongOption(where, "must be a JSON object");
  DeviceSpec spec;
  spec.where = where;
  for (const auto& [key, value] : entry.items()) {
    BERTH_RETURN_IF_ERROR(ReadSpecKey(key, value, &spec));
  }
  if (spec.interface_name && entry.contains("address") && !entry["address"].empty()) {
    return WrongOption(where, "give either address or devname, not both");
  }
  for (const char* const tag : {"managed", "live_migratable", "one_time_use"}) {
    BERTH_RETURN_IF_ERROR(NormalizeBoolean(tag, &spec));
  }
  BERTH_RETURN_IF_ERROR(CheckLimits(spec, limits));
  return spec;
}

bool IsPhysicalFunction(const std::string& address, const std::vector<PciDevice>& devices) {
  return std::any_of(devices.begin(), devices.end(), [&](const PciDevice& device) {
    return device.parent_address == address ||
           (device.address == address && device.dev_type == "type-PF");
  });
}

std::string JoinAddress(const AddressParts& parts) {
  return absl::StrCat(parts[0], ":", parts[1], ":", parts[2], ".", parts[3]);
}

}  // namespace

InterfaceAddresses InterfacesOf(const std::vector<PciDevice>& devices) {
  InterfaceAddresses interfaces;
  for (const PciDevice& device : devices) {
    for (const std::string& name : device.interfaces) interfaces.emplace(name, device.address);
  }
  return interfaces;
}

bool OffersDeviceLiveMigration(int64_t libvirt_version, int64_t qemu_version) {
  return libvirt_version >= EncodeVersion(10, 0, 0) && qemu_version >= EncodeVersion(8, 2, 2);
}

bool DeviceSpec::Matches(const PciDevice& device, const InterfaceAddresses& interfaces) const {
  if (!vendor_id.empty() && vendor_id != device.vendor_id) return false;
  if (!product_id.empty() && product_id != device.product_id) return false;
  if (remote_managed() && device.card_serial_number.value_or("").empty()) return false;
  const std::optional<AddressParts> own = SplitAddress(device.address);
  if (!own) return false;
  if (interface_name) {
    const auto found = interfaces.find(*interface_name);
    return found != interfaces.end() &&
           (device.address == found->second || device.parent_address == found->second);
  }
  if (address.Matches(*own)) return true;
  return address.single() && device.parent_address &&
         SplitAddress(*device.parent_address) == address.single();
}

absl::StatusOr<DeviceSpecs> DeviceSpecs::Parse(const std::vector<std::string>& options,
                                               const DeviceSpecLimits& limits) {
  DeviceSpecs specs;
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string where = absl::StrCat("device_spec[", i, "]");
    BERTH_ASSIGN_OR_RETURN(SpecJson option, ParseOptionJson(where, options[i]));
    if (!option.is_structured()) return WrongOption(where, "must be a JSON object or array");
    const SpecJson list = option.is_array() ? option : SpecJson::array({option});
    for (size_t j = 0; j < list.size(); ++j) {
      BERTH_ASSIGN_OR_RETURN(
          DeviceSpec spec,
          ReadSpec(option.is_array() ? absl::StrCat(where, "[", j, "]") : where, list[j], limits));
      specs.specs_.push_back(std::move(spec));
    }
  }
  return specs;
}

absl::Status DeviceSpecs::CheckRemoteManaged(const std::vector<PciDevice>& devices) const {
  const InterfaceAddresses interfaces = InterfacesOf(devices);
  for (const DeviceSpec& spec : specs_) {
    if (!spec.remote_managed()) continue;
    std::string address;
    if (spec.interface_name) {
      const auto found = interfaces.find(*spec.interface_name);
      if (found == interfaces.end()) {
        return absl::FailedPreconditionError(absl::StrCat(
            spec.where, ".devname: there is no network interface ", *spec.interface_name));
      }
      address = found->second;
    } else if (spec.address.single()) {
      address = JoinAddress(*spec.address.single());
    }
    if (IsPhysicalFunction(address, devices)) {
      return absl::FailedPreconditionError(
          absl::StrCat(spec.where, ".remote_managed: ", address,
                       " is a physical function: name its virtual functions instead"));
    }
  }
  return absl::OkStatus();
}

const DeviceSpec* DeviceSpecs::Find(const PciDevice& device,
                                    const InterfaceAddresses& interfaces) const {
  const auto found = std::find_if(specs_.begin(), specs_.end(), [&](const DeviceSpec& spec) {
    return spec.Matches(device, interfaces);
  });
  return found == specs_.end() ? nullptr : &*found;
}

std::vector<std::string> DeviceSpecs::Warnings(const InterfaceAddresses& interfaces) const {
  std::vector<std::string> warnings;
  for (const DeviceSpec& spec : specs_) {
    if (!spec.interface_name || interfaces.count(*spec.interface_name) != 0) continue;
    warnings.push_back(absl::StrCat(spec.where, ".devname: there is no network interface ",
                                    *spec.interface_name, ", so no device matches"));
  }
  return warnings;
}

}  // namespace berth::tracker
