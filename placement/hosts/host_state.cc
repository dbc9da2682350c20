#include "placement/hosts/host_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth::placement {
namespace {

constexpr int64_t kMibInGib = 1024;

int64_t CounterOf(const NodeStock& node, const std::string& name) {
  const auto found = node.counters.find(name);
  int64_t count = 0;
  if (found == node.counters.end() || !absl::SimpleAtoi(found->second, &count)) return 0;
  return count;
}

// The free disk is the smaller one of what the accounting has left and what sparse images leave
// (T-333).
int64_t FreeDiskMib(const NodeStock& node) {
  const int64_t free = *node.free_disk_gib;
  return kMibInGib * std::min(free, node.disk_available_least_gib.value_or(free));
}

std::string RatioText(double ratio) {
  const std::string text = absl::StrCat(ratio);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

// A list of lists of texts as Python prints it, because requests are written for that.
std::string ListText(const std::vector<std::vector<std::string>>& lists) {
  std::vector<std::string> texts;
  texts.reserve(lists.size());
  for (const std::vector<std::string>& list : lists) {
    texts.push_back(absl::StrCat("['", absl::StrJoin(list, "', '"), "']"));
  }
  return absl::StrCat("[", absl::StrJoin(texts, ", "), "]");
}

std::map<std::string, std::string> AmountTexts(const HostState& state) {
  const NodeStock& node = state.node;
  return {{"total_usable_ram_mb", absl::StrCat(node.memory_mib)},
          {"total_usable_disk_gb", absl::StrCat(node.disk_gib)},
          {"disk_mb_used", absl::StrCat(state.used_disk_mib)},
          {"free_ram_mb", absl::StrCat(state.free_memory_mib)},
          {"free_disk_mb", absl::StrCat(state.free_disk_mib)},
          {"vcpus_total", absl::StrCat(node.vcpus)},
          {"vcpus_used", absl::StrCat(state.used_vcpus)},
          {"num_instances", absl::StrCat(state.instance_count)},
          {"num_io_ops", absl::StrCat(state.io_operation_count)},
          {"failed_builds", absl::StrCat(state.failed_build_count)}};
}

std::map<std::string, std::string> DescriptionTexts(const NodeStock& node) {
  return {{"uuid", node.uuid},
          {"hypervisor_hostname", node.hypervisor_hostname},
          {"hypervisor_type", node.hypervisor_type},
          {"hypervisor_version", absl::StrCat(node.hypervisor_version)},
          {"host_ip", node.host_ip},
          {"cpu_info", node.cpu_info},
          {"supported_instances", ListText(node.supported_instances)},
          {"cpu_allocation_ratio", RatioText(node.cpu_allocation_ratio)},
          {"ram_allocation_ratio", RatioText(node.memory_allocation_ratio)},
          {"disk_allocation_ratio", RatioText(node.disk_allocation_ratio)}};
}

}  // namespace

bool UpdateFromNode(const NodeStock& node, HostState* state) {
  state->node.host = node.host;
  state->node.node_name = node.node_name;
  if (!node.free_disk_gib.has_value()) return false;
  if (state->updated_at.has_value() && *state->updated_at > node.updated_at) return false;
  state->node = node;
  state->free_memory_mib = node.free_memory_mib;
  state->free_disk_mib = FreeDiskMib(node);
  state->used_disk_mib = node.used_disk_gib * kMibInGib;
  state->used_vcpus = node.used_vcpus;
  state->instance_count = CounterOf(node, "num_instances");
  state->io_operation_count = CounterOf(node, "io_workload");
  state->failed_build_count = CounterOf(node, "failed_builds");
  state->updated_at = node.updated_at;
  return true;
}

bool UpdateHostState(const NodeStock& node, const HostService& service,
                     std::vector<HostAggregate> aggregates, std::set<std::string> instances,
                     HostState* state) {
  const bool taken = UpdateFromNode(node, state);
  state->service = service;
  state->aggregates = std::move(aggregates);
  state->instances = std::move(instances);
  return taken;
}

absl::Status ConsumeFromHost(const HostDemand& demand, absl::Time now,
                             absl::FunctionRef<absl::Status()> take_cells, HostState* state) {
  // Cells and devices come first, because nothing else can fail.
  if (absl::Status taken = take_cells(); !taken.ok()) return taken;
  state->free_memory_mib -= demand.memory_mib;
  state->free_disk_mib -= demand.disk_gib * kMibInGib;
  state->used_vcpus += demand.vcpus;
  ++state->instance_count;
  ++state->io_operation_count;
  state->updated_at = now;
  return absl::OkStatus();
}

std::optional<std::string> AttributeOf(const HostState& state, const std::string& name) {
  if (name == "host") return state.node.host;
  if (name == "nodename") return state.node.node_name;
  const auto find = [&](const std::map<std::string, std::string>& texts) {
    const auto found = texts.find(name);
    return found == texts.end() ? std::nullopt : std::make_optional(found->second);
  };
  if (auto amount = find(AmountTexts(state)); amount.has_value()) return amount;
  // Nothing is known of a node that was never audited.
  return state.updated_at.has_value() ? find(DescriptionTexts(state.node)) : std::nullopt;
}

}  // namespace berth::placement
