#include "tracker/settings/configuration.h"

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {
namespace {

absl::Status Invalid(const NodeConfiguration& node, absl::string_view why) {
  const absl::string_view name = node.name.empty() ? node.uri : node.name;
  return absl::InvalidArgumentError(absl::StrCat("hypervisor ", name, ": ", why));
}

absl::Status ValidateCpuSets(const NodeConfiguration& node, ConfigurationWarnings* warnings) {
  if (node.cpu_dedicated_set && node.cpu_shared_set) {
    const CpuSet both = node.cpu_dedicated_set->And(*node.cpu_shared_set);
    if (!both.empty()) {
      return Invalid(
          node, absl::StrCat("these CPUs are both in cpu_dedicated_set and in cpu_shared_set: ",
                             both.ToString()));
    }
  }
  if (node.reserved_host_cpus != 0 && (node.cpu_dedicated_set || node.cpu_shared_set)) {
    return Invalid(node,
                   "reserved_host_cpus cannot be combined with cpu_dedicated_set or "
                   "cpu_shared_set: leave the CPUs out of the sets");
  }
  if (node.vcpu_pin_set && node.cpu_dedicated_set) {
    return Invalid(node, "vcpu_pin_set cannot be combined with cpu_dedicated_set");
  }
  if (node.vcpu_pin_set && node.cpu_shared_set && warnings != nullptr) {
    warnings->texts.push_back(absl::StrCat("hypervisor ", node.name.empty() ? node.uri : node.name,
                                           ": guests get their VCPU from vcpu_pin_set; "
                                           "cpu_shared_set is only used for emulator threads"));
  }
  return absl::OkStatus();
}

absl::Status ValidateAmounts(const NodeConfiguration& node) {
  if (node.reserved_host_cpus < 0 || node.reserved_host_memory_mib < 0 ||
      node.reserved_host_disk_mib < 0) {
    return Invalid(node,
                   "reserved_host_cpus, reserved_host_memory_mb and reserved_host_disk_mb must not "
                   "be negative");
  }
  for (const std::optional<double>& ratio :
       {node.cpu_allocation_ratio, node.ram_allocation_ratio, node.disk_allocation_ratio,
        std::optional<double>(node.initial_cpu_allocation_ratio),
        std::optional<double>(node.initial_ram_allocation_ratio),
        std::optional<double>(node.initial_disk_allocation_ratio)}) {
    if (ratio && !(*ratio >= 0)) return Invalid(node, "an allocation ratio must not be negative");
  }
  if (node.initial_cpu_allocation_ratio == 0 || node.initial_ram_allocation_ratio == 0 ||
      node.initial_disk_allocation_ratio == 0) {
    return Invalid(node, "an initial allocation ratio must be above 0");
  }
  return absl::OkStatus();
}

absl::Status ValidateFileBackedMemory(const NodeConfiguration& node) {
  if (node.file_backed_memory_mib < 0)
    return Invalid(node, "file_backed_memory must not be negative");
  if (node.file_backed_memory_mib == 0) return absl::OkStatus();
  if (!node.virt_type.empty() && node.virt_type != "kvm" && node.virt_type != "qemu") {
    return Invalid(node, "file_backed_memory is only possible with virt_type kvm or qemu");
  }
  const double ratio = node.ram_allocation_ratio.value_or(0) != 0
                           ? *node.ram_allocation_ratio
                           : node.initial_ram_allocation_ratio;
  if (ratio != 1.0)
    return Invalid(node, "file_backed_memory is only possible with ram_allocation_ratio 1.0");
  if (node.reserved_host_memory_mib >= node.file_backed_memory_mib) {
    return Invalid(node, "reserved_host_memory_mb must be less than file_backed_memory");
  }
  return absl::OkStatus();
}

absl::Status ValidateMonitors(const NodeConfiguration& node) {
  std::set<std::string> found;
  for (const std::string& name : node.monitors) {
    const std::string full = MonitorName(name);
    if (full != kCpuMonitor) return Invalid(node, absl::StrCat("there is no monitor ", full));
    if (!found.insert(full).second) {
      return Invalid(node, absl::StrCat("the monitor ", full, " is named twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateNode(const NodeConfiguration& node, ConfigurationWarnings* warnings) {
  if (node.uri.empty()) return Invalid(node, "the URI is missing");
  for (const absl::Status& status :
       {ValidateCpuSets(node, warnings), ValidateAmounts(node), ValidateFileBackedMemory(node)}) {
    if (!status.ok()) return status;
  }
  if (node.disk_backend == DiskBackend::kLvm && node.volume_group.empty()) {
    return Invalid(node, "images_volume_group is required, because images_type is lvm");
  }
  return ValidateMonitors(node);
}

}  // namespace

absl::Status Validate(const Configuration& configuration, ConfigurationWarnings* warnings) {
  if (configuration.nodes.empty()) {
    return absl::InvalidArgumentError("no hypervisor is configured");
  }
  std::set<std::string> names;
  std::set<std::string> uris;
  for (const NodeConfiguration& node : configuration.nodes) {
    if (!node.name.empty() && !names.insert(node.name).second) {
      return Invalid(node, "two hypervisors have this name");
    }
    if (!uris.insert(node.uri).second) return Invalid(node, "two hypervisors have this URI");
  }
  for (const NodeConfiguration& node : configuration.nodes) {
    BERTH_RETURN_IF_ERROR(ValidateNode(node, warnings));
  }
  return absl::OkStatus();
}

std::vector<std::string> TakeReloadable(const NodeConfiguration& read, NodeConfiguration* running) {
  const NodeConfiguration before = std::exchange(*running, read);
  std::vector<std::string> waiting;
  const auto keep = [&](const char* name, auto NodeConfiguration::*field) {
    if (before.*field != read.*field) waiting.emplace_back(name);
    running->*field = before.*field;
  };
  keep("virt-type", &NodeConfiguration::virt_type);
  keep("cpu-mode", &NodeConfiguration::cpu_mode);
  keep("cpu-models", &NodeConfiguration::cpu_models);
  keep("cpu-model-extra-flags", &NodeConfiguration::cpu_model_extra_flags);
  keep("file-backed-memory", &NodeConfiguration::file_backed_memory_mib);
  keep("pmem-namespaces", &NodeConfiguration::pmem_namespaces);
  keep("images-type", &NodeConfiguration::disk_backend);
  keep("instances-path", &NodeConfiguration::instances_path);
  keep("images-volume-group", &NodeConfiguration::volume_group);
  keep("images-rbd-pool", &NodeConfiguration::rbd_pool);
  return waiting;
}

std::optional<absl::Duration> PassInterval(const Configuration& configuration) {
  const int seconds = configuration.update_resources_interval_seconds;
  if (seconds < 0) return std::nullopt;
  return absl::Seconds(seconds == 0 ? 60 : seconds);
}

std::string MonitorName(const std::string& name) {
  return absl::StrContains(name, '.') ? name : absl::StrCat("cpu.", name);
}

absl::StatusOr<std::map<std::string, CpuSet>> ParseNetworkCells(absl::string_view text) {
  std::map<std::string, CpuSet> cells;
  for (const absl::string_view part : absl::StrSplit(text, ' ', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(part, absl::MaxSplits(':', 1));
    const absl::StatusOr<CpuSet> ids = CpuSet::Parse(field.second);
    if (field.first.empty() || !ids.ok() || !cells.emplace(field.first, *ids).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", part, "' must be NAME:CELLS, for example public:0-1, with each name once"));
    }
  }
  return cells;
}

absl::StatusOr<ReservedPages> ParseReservedPages(absl::string_view text) {
  ReservedPages pages;
  std::set<absl::string_view> seen;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(part, absl::MaxSplits(':', 1));
    const absl::string_view key = absl::StripAsciiWhitespace(field.first);
    std::string value = absl::AsciiStrToUpper(absl::StripAsciiWhitespace(field.second));
    int64_t factor = 1;
    if (key == "size") {
      absl::string_view digits = value;
      absl::ConsumeSuffix(&digits, "B");
      if (absl::ConsumeSuffix(&digits, "G")) factor = 1024 * 1024;
      if (absl::ConsumeSuffix(&digits, "M")) factor = 1024;
      absl::ConsumeSuffix(&digits, "K");
      value = std::string(digits);
    }
    int64_t number = 0;
    if (!absl::SimpleAtoi(value, &number) || number < 0 || number > (int64_t{1} << 40)) {
      return absl::InvalidArgumentError(absl::StrCat("reserved_huge_pages '", text, "': '", part,
                                                     "' must have a number that is not negative"));
    }
    if (key == "node") pages.cell = static_cast<int>(number);
    if (key == "size") pages.size_kib = number * factor;
    if (key == "count") pages.count = number;
    seen.insert(key);
  }
  if (seen != std::set<absl::string_view>{"node", "size", "count"} || pages.size_kib == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("reserved_huge_pages '", text,
                     "': write node:N,size:S,count:C, such as node:0,size:2M,count:64"));
  }
  return pages;
}

}  // namespace berth::tracker
