#include "services/cli/text/node_view.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/display_width.h"
#include "services/cli/text/time_text.h"
#include "services/cli/text/titled_lines.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int64_t kMajor = 1'000'000;
constexpr int64_t kMinor = 1'000;

std::string StateWords(pb::ServiceState state, bool disabled, const std::string& reason) {
  const std::string words = ShortName(pb::ServiceState_Name(state), "SERVICE_STATE_");
  if (!disabled) return words;
  return absl::StrCat(words, ", disabled", reason.empty() ? "" : ": ", reason);
}

std::string Version(int64_t number) {
  if (number == 0) return "unknown";
  return absl::StrCat(number / kMajor, ".", number / kMinor % kMinor, ".", number % kMinor);
}

std::string MemorySize(int64_t mib) { return SizeOf("MEMORY_MB", mib); }
std::string DiskSize(int64_t gib) { return SizeOf("DISK_GB", gib); }

// The allocation ratios that are known. Empty: none is.
std::string Ratios(const pb::NodeFacts& facts) {
  const std::pair<const char*, double> ratios[] = {{"CPUs", facts.cpu_allocation_ratio()},
                                                   {"memory", facts.memory_allocation_ratio()},
                                                   {"disk", facts.disk_allocation_ratio()}};
  std::string text;
  for (const auto& [name, ratio] : ratios) {
    if (ratio == 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, " ", ratio);
  }
  return text;
}

void AddFacts(const pb::NodeFacts& facts, TitledLines* lines) {
  lines->emplace_back(
      "hypervisor", absl::StrCat(facts.hypervisor_type(), " ", Version(facts.hypervisor_version()),
                                 ", libvirt ", Version(facts.libvirt_version())));
  if (!facts.host_ip().empty()) lines->emplace_back("address", facts.host_ip());
  lines->emplace_back("CPUs",
                      absl::StrCat(facts.vcpus(), " shared, ", facts.pcpus(), " dedicated"));
  lines->emplace_back("memory", MemorySize(facts.memory_mib()));
  lines->emplace_back("disk", DiskSize(facts.disk_gib()));
  if (std::string ratios = Ratios(facts); !ratios.empty()) {
    lines->emplace_back("ratios", std::move(ratios));
  }
  std::string cells;
  for (const pb::NumaCell& cell : facts.numa_cells()) {
    absl::StrAppend(&cells, cells.empty() ? "" : "; ", cell.id(), ": ", cell.shared_cpus_size(),
                    " CPUs, ", MemorySize(cell.memory_mib()));
  }
  if (!cells.empty()) lines->emplace_back("NUMA cells", cells);
  if (!facts.pci_devices().empty()) {
    lines->emplace_back("PCI devices", absl::StrCat(facts.pci_devices_size()));
  }
}

Table AccountTable(const pb::NodeAccount& account) {
  Table table({{"USED BY", Column::Kind::kText},
               {"SHARED VCPUS", Column::Kind::kNumber},
               {"DEDICATED CPUS", Column::Kind::kNumber},
               {"MEMORY MIB", Column::Kind::kNumber},
               {"DISK GIB", Column::Kind::kNumber}});
  const std::pair<const char*, const pb::Amounts*> rows[] = {
      {"the host (reserved)", &account.reserve()},
      {"instances", &account.instances()},
      {"migrations", &account.migrations()},
      {"claimed, not started yet", &account.claims()},
      {"other consumers", &account.allocations()},
      {"orphans (no consumer)", &account.orphans()},
      {"total", &account.used()},
  };
  for (const auto& [name, amounts] : rows) {
    table.Add({name, absl::StrCat(amounts->vcpus() - amounts->pcpus()),
               absl::StrCat(amounts->pcpus()), absl::StrCat(amounts->memory_mib()),
               absl::StrCat(amounts->disk_gib())});
  }
  return table;
}

Table OrphanTable(const google::protobuf::RepeatedPtrField<pb::Orphan>& orphans) {
  Table table({{"ORPHAN", Column::Kind::kText},
               {"UUID", Column::Kind::kExact},
               {"STATE", Column::Kind::kText},
               {"VCPUS", Column::Kind::kNumber},
               {"MEMORY MIB", Column::Kind::kNumber},
               {"DISK GIB", Column::Kind::kNumber},
               {"ALLOCATABLE BY OTHERS", Column::Kind::kText}});
  for (const pb::Orphan& orphan : orphans) {
    table.Add({orphan.name(), orphan.uuid(),
               ShortName(pb::GuestState_Name(orphan.state()), "GUEST_STATE_"),
               absl::StrCat(orphan.vcpus()), absl::StrCat(orphan.memory_mib()),
               absl::StrCat(orphan.disk_gib()), orphan.withheld() ? "no" : "yes"});
  }
  return table;
}

// Each finding takes two lines, because its message is a sentence.
std::string FindingLines(const google::protobuf::RepeatedPtrField<pb::Finding>& findings) {
  std::string lines;
  for (const pb::Finding& finding : findings) {
    absl::StrAppend(&lines, ShortName(pb::FindingKind_Name(finding.kind()), "FINDING_KIND_"));
    if (!finding.subject().empty()) absl::StrAppend(&lines, " ", Printable(finding.subject()));
    if (finding.first_seen_at().seconds() > 0) {
      absl::StrAppend(&lines, ", since ", TimeText(finding.first_seen_at()));
    }
    absl::StrAppend(&lines, "\n  ", Printable(finding.message()), "\n");
  }
  return lines;
}

TitledLines HeadLines(const pb::Node& node) {
  TitledLines lines = {
      {"name", node.name()},
      {"uuid", node.uuid()},
      {"host name", node.host()},
      {"state", StateWords(node.state(), node.disabled(), node.disabled_reason())}};
  if (node.retired()) lines.emplace_back("retired", "yes: it is deleted with its last allocation");
  std::string audit = AuditWords(node.audit());
  if (node.audit().has_ended_at()) {
    audit = absl::StrCat(TimeText(node.audit().ended_at()), ": ", audit);
  }
  lines.emplace_back("last audit", audit);
  return lines;
}

}  // namespace

std::string ShortName(const std::string& value, const std::string& prefix) {
  return absl::AsciiStrToLower(absl::StripPrefix(value, prefix));
}

std::string AuditWords(const pb::AuditSummary& audit) {
  if (audit.result() == pb::AUDIT_RESULT_UNSPECIFIED) return "none has ended yet";
  std::string words = ShortName(pb::AuditResult_Name(audit.result()), "AUDIT_RESULT_");
  absl::StrAppend(&words, audit.changed() ? "; the changes that it found were reported"
                                          : "; nothing had changed");
  if (!audit.message().empty()) absl::StrAppend(&words, ": ", audit.message());
  return words;
}

Table NodeTable(const google::protobuf::RepeatedPtrField<pb::Node>& nodes) {
  Table table({{"NAME", Column::Kind::kText},
               {"HOST", Column::Kind::kText},
               {"STATE", Column::Kind::kText},
               {"CPUS", Column::Kind::kNumber},
               {"USED", Column::Kind::kNumber},
               {"MEMORY", Column::Kind::kNumber},
               {"MEMORY USED", Column::Kind::kNumber},
               {"LAST AUDIT", Column::Kind::kText},
               {"UUID", Column::Kind::kSpare}});
  for (const pb::Node& node : nodes) {
    const std::string state =
        node.retired() ? "retired" : StateWords(node.state(), node.disabled(), "");
    table.Add(
        {node.name(), node.host(), state, absl::StrCat(node.facts().vcpus() + node.facts().pcpus()),
         absl::StrCat(node.account().used().vcpus()), MemorySize(node.facts().memory_mib()),
         MemorySize(node.account().used().memory_mib()),
         ShortName(pb::AuditResult_Name(node.audit().result()), "AUDIT_RESULT_"), node.uuid()});
  }
  return table;
}

void KeepDrifts(pb::Node* node) {
  google::protobuf::RepeatedPtrField<pb::Finding> findings;
  findings.Swap(node->mutable_findings());
  for (pb::Finding& finding : findings) {
    if (finding.kind() == pb::FINDING_KIND_DRIFT) node->add_findings()->Swap(&finding);
  }
}

Table DriftTable(const google::protobuf::RepeatedPtrField<pb::Node>& nodes) {
  Table table({{"NODE", Column::Kind::kText},
               {"CLASS", Column::Kind::kText},
               {"SINCE", Column::Kind::kText},
               {"DRIFT", Column::Kind::kText}});
  for (const pb::Node& node : nodes) {
    for (const pb::Finding& finding : node.findings()) {
      table.Add({Printable(node.name()), Printable(finding.subject()),
                 TimeText(finding.first_seen_at()), Printable(finding.message())});
    }
  }
  return table;
}

Table ServiceTable(const google::protobuf::RepeatedPtrField<pb::Service>& services) {
  Table table({{"HOST", Column::Kind::kText},
               {"BINARY", Column::Kind::kText},
               {"STATE", Column::Kind::kText},
               {"VERSION", Column::Kind::kText},
               {"LAST SEEN", Column::Kind::kText},
               {"UUID", Column::Kind::kSpare}});
  for (const pb::Service& service : services) {
    std::string state = StateWords(service.state(), service.disabled(), service.disabled_reason());
    if (service.forced_down()) absl::StrAppend(&state, ", forced down");
    if (service.stale_audit()) absl::StrAppend(&state, ", audit overdue");
    table.Add({service.host(), service.binary(), state, service.version(),
               service.has_last_seen_at() ? TimeText(service.last_seen_at()) : "never",
               service.uuid()});
  }
  return table;
}

std::string NodePage(const pb::Node& node, const Screen& screen) {
  TitledLines lines = HeadLines(node);
  AddFacts(node.facts(), &lines);
  if (!node.instance_uuids().empty()) {
    lines.emplace_back("instances", absl::StrCat(node.instance_uuids_size()));
  }
  if (node.orphans().empty()) lines.emplace_back("orphans", "none");
  if (node.findings().empty()) {
    lines.emplace_back("findings", node.orphans().empty() ? "none" : "none but the orphans");
  }
  std::string page = absl::StrCat(Render(lines), "\n", AccountTable(node.account()).Render(screen));
  if (!node.orphans().empty()) {
    absl::StrAppend(&page, "\n", OrphanTable(node.orphans()).Render(screen));
  }
  if (!node.findings().empty()) {
    absl::StrAppend(&page, "\n", "findings\n", FindingLines(node.findings()));
  }
  return page;
}

}  // namespace berth::cli
