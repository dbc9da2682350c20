#include "tracker/facts/pmem.h"

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tracker/ground/message_text.h"

namespace berth::tracker {
namespace {

constexpr size_t kQuotedMax = 80;  // bytes of an output that cannot be understood

}  // namespace

absl::StatusOr<std::set<std::string>> ParseNdctlList(absl::string_view output) {
  std::set<std::string> names;
  if (output.find_first_not_of(" \n") == absl::string_view::npos) return names;
  nlohmann::json list = nlohmann::json::parse(output, nullptr, false);
  // ndctl prints a single namespace without a list around it.
  if (list.is_object()) list = nlohmann::json::array({list});
  if (!list.is_array()) {
    return absl::InvalidArgumentError(absl::StrCat("the output of ndctl cannot be understood: '",
                                                   CutText(output, kQuotedMax), "'"));
  }
  const nlohmann::json::json_pointer device("/daxregion/devices/0/chardev");
  for (const nlohmann::json& entry : list) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) continue;
    if (entry.contains(device)) names.insert(entry["name"].get<std::string>());
  }
  return names;
}

PmemNamespaces OfferedNamespaces(const PmemNamespaces& configured,
                                 const std::optional<std::set<std::string>>& existing) {
  PmemNamespaces offered;
  for (const auto& [resource_class, names] : configured) {
    for (const std::string& name : names) {
      if (!existing || existing->count(name) != 0) offered[resource_class].insert(name);
    }
  }
  return offered;
}

std::vector<std::string> MissingNamespaces(const PmemNamespaces& configured,
                                           const std::set<std::string>& existing) {
  std::vector<std::string> missing;
  for (const auto& [resource_class, names] : configured) {
    for (const std::string& name : names) {
      if (existing.count(name) == 0) missing.push_back(name);
    }
  }
  return missing;
}

}  // namespace berth::tracker
