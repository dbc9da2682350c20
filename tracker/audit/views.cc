#include "tracker/audit/views.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tracker/facts/node_devices.h"

namespace berth::tracker {
namespace {

nlohmann::json AmountsJson(const Amounts& amounts) {
  return {
      {"vcpus", amounts.vcpus}, {"memory_mb", amounts.memory_mib}, {"disk_mb", amounts.disk_mib}};
}

const char* SourceName(RatioSource source) {
  switch (source) {
    case RatioSource::kSetting:
      return "setting";
    case RatioSource::kPlacement:
      return "placement";
    case RatioSource::kInitial:
      return "initial";
    case RatioSource::kFixed:
      return "fixed";
  }
  return "unknown";
}

}  // namespace

std::string HypervisorView(absl::string_view node, const Facts& facts) {
  const int64_t vcpus = facts.vcpus.value_or(0);
  const std::optional<int64_t> memory_used = facts.memory_used_mib.value_or(std::nullopt);
  const std::string free_memory =
      memory_used ? absl::StrCat(facts.memory_mib.value_or(0) - *memory_used, "MB") : "unknown";
  const std::string free_vcpus =
      vcpus == 0 ? "unknown" : absl::StrCat(vcpus - facts.vcpus_used.value_or(0));
  return absl::StrFormat(
      "Hypervisor/Node resource view: name=%s free_ram=%s free_disk=%dGB free_vcpus=%s "
      "pci_devices=%s",
      node, free_memory, facts.local_disk_gib.value_or(0) - facts.local_disk_used_gib.value_or(0),
      free_vcpus, facts.pci_devices.empty() ? "None" : PciDumpJson(facts.pci_devices));
}

std::vector<std::string> FinalView(absl::string_view node, const Accounting& accounting,
                                   const Facts& facts) {
  std::vector<std::string> lines;
  const Amounts used = accounting.used();
  const bool usable = accounting.total.vcpus > 0;
  const int64_t vcpus_used = usable ? used.vcpus : 0;
  if (usable) {
    lines.push_back(absl::StrFormat("Total usable vcpus: %d, total allocated vcpus: %d",
                                    accounting.total.vcpus, vcpus_used));
  }
  const nlohmann::json stats = {{"uptime", facts.uptime}};
  lines.push_back(absl::StrFormat(
      "Final resource view: name=%s phys_ram=%dMB used_ram=%dMB phys_disk=%dGB used_disk=%dGB "
      "total_vcpus=%d used_vcpus=%d pci_stats=[] stats=%s",
      node, accounting.total.memory_mib, used.memory_mib, accounting.total.disk_mib / 1024,
      accounting.used_disk_gib(), usable ? accounting.total.vcpus : 0, vcpus_used,
      stats.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  return lines;
}

std::string AccountingJson(const Accounting& accounting, const std::vector<Orphan>& orphans) {
  nlohmann::json parts = {{"total", AmountsJson(accounting.total)},
                          {"reserve", AmountsJson(accounting.reserve)},
                          {"allocated", AmountsJson(accounting.allocated)},
                          {"orphans", AmountsJson(accounting.orphans)},
                          {"used", AmountsJson(accounting.used())},
                          {"free", AmountsJson(accounting.free())},
                          {"pcpus", accounting.pcpus},
                          {"pcpus_used", accounting.pcpus_used()}};
  const std::pair<const char*, const Usage&> promised[] = {
      {"instances", accounting.promised.instances},
      {"migrations", accounting.promised.migrations},
      {"claims", accounting.promised.claims}};
  for (const auto& [name, usage] : promised) {
    if (usage == Usage()) continue;
    parts[name] = AmountsJson(usage.amounts);
    parts[name]["pcpus"] = usage.pcpus;
  }
  if (!accounting.counters.empty()) parts["counters"] = accounting.counters;
  parts["orphan_guests"] = nlohmann::json::array();
  for (const Orphan& orphan : orphans) {
    nlohmann::json item = AmountsJson(orphan.usage);
    item["uuid"] = orphan.uuid.ToString();
    item["name"] = orphan.name;
    item["withheld"] = orphan.withheld;
    parts["orphan_guests"].push_back(std::move(item));
  }
  return parts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string RatiosJson(const std::map<std::string, RatioChoice>& ratios) {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [name, choice] : ratios) {
    all[name] = {{"ratio", choice.ratio}, {"source", SourceName(choice.source)}};
  }
  return all.dump();
}

PassTexts TextsOf(const Audit& audit) {
  const Report& report = audit.report;
  return {HypervisorView(report.node_name, *report.facts),
          FinalView(report.node_name, report.accounting, *report.facts),
          AccountingJson(report.accounting, report.orphans), RatiosJson(audit.ratios)};
}

}  // namespace berth::tracker
