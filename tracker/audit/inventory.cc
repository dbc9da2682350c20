#include "tracker/audit/inventory.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tracker/audit/reserve.h"
#include "tracker/facts/pmem.h"

namespace berth::tracker {
namespace {

// The inputs from which the inventory of one class is computed.
struct ClassRule {
  const char* name;
  int64_t total;
  int64_t reserved;
  const char* reserve_option;
  RatioChoice ratio;
  int64_t withheld;
};

std::optional<double> PlacedRatio(const Inventories& placed, const char* name) {
  const auto found = placed.find(name);
  if (found == placed.end()) return std::nullopt;
  return found->second.allocation_ratio;
}

Inventory MakeInventory(const ClassRule& rule, std::vector<std::string>* problems) {
  Inventory inventory;
  inventory.total = rule.total;
  inventory.max_unit = rule.total;
  inventory.allocation_ratio = rule.ratio.ratio;
  if (rule.reserved > rule.total) {
    problems->push_back(absl::StrCat(rule.reserve_option, " asks for ", rule.reserved, " of ",
                                     rule.name, ", but the node has ", rule.total));
  }
  const double taken = std::ceil(static_cast<double>(rule.withheld) / rule.ratio.ratio);
  const int64_t room = std::max<int64_t>(0, rule.total - rule.reserved);
  inventory.reserved = std::min(rule.reserved, rule.total);
  inventory.reserved += taken >= static_cast<double>(room) ? room : static_cast<int64_t>(taken);
  return inventory;
}

}  // namespace

RootInventory DescribeRootInventory(const Facts& facts, const NodeConfiguration& configuration,
                                    const Inventories& placed, const Withheld& withheld) {
  const NodeConfiguration& node = configuration;
  const int64_t vcpus = facts.vcpus.value_or(0);
  const int64_t disk = node.shared_disk_provider ? 0 : facts.local_disk_gib.value_or(0);
  // If the node has only dedicated CPUs, the CPUs that orphans use are reserved among these.
  const bool only_dedicated = vcpus == 0;
  const Reserve reserve = ReserveOf(facts, node);
  const auto ratio = [&](const char* name, const std::optional<double>& configured,
                         double initial) {
    return ChooseRatio(node.ratio_mode, configured, PlacedRatio(placed, name), initial);
  };
  const ClassRule kRules[] = {
      {"VCPU", vcpus, reserve.amounts.vcpus, "reserved_host_cpus",
       ratio("VCPU", node.cpu_allocation_ratio, node.initial_cpu_allocation_ratio), withheld.vcpus},
      {"PCPU", facts.pcpus, 0, "", {}, only_dedicated ? withheld.vcpus : 0},
      {"MEMORY_MB", facts.memory_mib.value_or(0), reserve.amounts.memory_mib,
       reserve.memory_options,
       ratio("MEMORY_MB", node.ram_allocation_ratio, node.initial_ram_allocation_ratio),
       withheld.memory_mib},
      {"DISK_GB", disk, CeilGib(reserve.amounts.disk_mib), reserve.disk_options,
       ratio("DISK_GB", node.disk_allocation_ratio, node.initial_disk_allocation_ratio),
       withheld.disk_gib},
  };
  RootInventory result;
  for (const ClassRule& rule : kRules) {
    if (rule.total <= 0) continue;
    result.inventories.emplace(rule.name, MakeInventory(rule, &result.problems));
    result.ratios.emplace(rule.name, rule.ratio);
  }
  for (const auto& [name, namespaces] :
       OfferedNamespaces(node.pmem_namespaces, facts.pmem_namespaces)) {
    const auto total = static_cast<int64_t>(namespaces.size());
    result.inventories[name] = {total, 0, 1, total, 1, 1.0};
    result.ratios[name] = {};
  }
  return result;
}

RatioChoice ChooseRatio(RatioMode mode, const std::optional<double>& configured,
                        const std::optional<double>& placed, double initial) {
  const bool is_set = configured && *configured != 0;
  const bool is_placed = placed && *placed != 0 && mode != RatioMode::kConfig;
  if (is_placed && (mode == RatioMode::kApi || !is_set)) return {*placed, RatioSource::kPlacement};
  if (is_set) return {*configured, RatioSource::kSetting};
  return {initial, RatioSource::kInitial};
}

}  // namespace berth::tracker
