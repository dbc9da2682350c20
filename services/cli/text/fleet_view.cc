#include "services/cli/text/fleet_view.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/node_view.h"
#include "services/cli/text/time_text.h"
#include "services/cli/text/titled_lines.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;
using Groups = google::protobuf::RepeatedPtrField<pb::ProviderAllocation>;

// CPUs are shared and dedicated ones together, in each row (T-353).
Table AmountsTable(const std::string& title) {
  return Table({{title, Column::Kind::kText},
                {"CPUS", Column::Kind::kNumber},
                {"DEDICATED CPUS", Column::Kind::kNumber},
                {"MEMORY MIB", Column::Kind::kNumber},
                {"DISK GIB", Column::Kind::kNumber}});
}

void AddRow(const std::string& name, int64_t cpus, const std::string& dedicated,
            const pb::Amounts& amounts, Table* table) {
  table->Add({name, absl::StrCat(cpus), dedicated, absl::StrCat(amounts.memory_mib()),
              absl::StrCat(amounts.disk_gib())});
}

// What nodes have, or have left.
void AddOwned(const std::string& name, const pb::Amounts& amounts, Table* table) {
  AddRow(name, amounts.vcpus() + amounts.pcpus(), absl::StrCat(amounts.pcpus()), amounts, table);
}

// What is promised on nodes.
void AddUsed(const std::string& name, const pb::Amounts& amounts, Table* table) {
  AddRow(name, amounts.vcpus(), absl::StrCat(amounts.pcpus()), amounts, table);
}

// What flavors ask for. They do not say how many of their CPUs are dedicated.
void AddFlavors(const std::string& name, const pb::Amounts& amounts, Table* table) {
  AddRow(name, amounts.vcpus(), "-", amounts, table);
}

// What is held on all providers together, for example "VCPU 4, MEMORY_MB 8192".
std::string HeldWords(const Groups& groups) {
  Amounts sums;
  for (const pb::ProviderAllocation& group : groups) {
    for (const auto& [name, amount] : group.resources()) sums[name] += amount;
  }
  return sums.empty() ? "nothing" : InWords(sums);
}

std::string Joined(const google::protobuf::RepeatedPtrField<std::string>& words) {
  std::string text;
  for (const std::string& word : words) absl::StrAppend(&text, text.empty() ? "" : ", ", word);
  return text;
}

}  // namespace

Table HostTable(const google::protobuf::RepeatedPtrField<pb::Host>& hosts) {
  Table table({{"HOST", Column::Kind::kText},
               {"BINARY", Column::Kind::kText},
               {"ZONE", Column::Kind::kText}});
  for (const pb::Host& host : hosts) {
    table.Add({host.host(), host.binary(), host.zone().empty() ? "-" : host.zone()});
  }
  return table;
}

std::string HostPage(const pb::DescribeHostResponse& host, const Screen& screen) {
  std::string nodes;
  for (const pb::Node& node : host.nodes()) {
    absl::StrAppend(&nodes, nodes.empty() ? "" : ", ", node.name());
  }
  Table table = AmountsTable("PROJECT");
  AddOwned("(total)", host.total(), &table);
  AddUsed("(used_now)", host.used_now(), &table);
  AddFlavors("(used_max)", host.used_max(), &table);
  for (const pb::ProjectAmounts& project : host.projects()) {
    AddFlavors(project.project_id(), project.amounts(), &table);
  }
  return absl::StrCat(
      Render({{"host", host.host()}, {"nodes", absl::StrCat(host.nodes_size(), ": ", nodes)}}),
      "\n", table.Render(screen));
}

std::string StatisticsPage(const pb::GetNodeStatisticsResponse& statistics, const Screen& screen) {
  TitledLines lines = {{"nodes", absl::StrCat(statistics.count(), " of enabled services")},
                       {"instances", absl::StrCat(statistics.running_vms())},
                       {"tasks", absl::StrCat(statistics.current_workload())},
                       {"disk left", absl::StrCat(statistics.disk_available_least_gib(),
                                                  " GiB if all images grow to their full size")}};
  if (!statistics.shared_storage_hosts().empty()) {
    lines.emplace_back("same disk", absl::StrCat("is counted for each of these hosts: ",
                                                 Joined(statistics.shared_storage_hosts())));
  }
  Table table = AmountsTable("SUM");
  AddOwned("total", statistics.total(), &table);
  AddUsed("used", statistics.used(), &table);
  AddOwned("free", statistics.free(), &table);
  return absl::StrCat(Render(lines), "\n", table.Render(screen));
}

std::string FaultWord(pb::AllocationFault fault) {
  return absl::StrReplaceAll(ShortName(pb::AllocationFault_Name(fault), "ALLOCATION_FAULT_"),
                             {{"_", "-"}});
}

Table FindingTable(const google::protobuf::RepeatedPtrField<pb::AllocationFinding>& findings,
                   const std::vector<std::string>& outcomes) {
  std::vector<Column> columns = {{"CONSUMER", Column::Kind::kExact},
                                 {"FAULT", Column::Kind::kText},
                                 {"HOLDS", Column::Kind::kText},
                                 {"SHOULD HOLD", Column::Kind::kText},
                                 {"WHY", Column::Kind::kText}};
  if (!outcomes.empty()) columns.push_back({"REPAIR", Column::Kind::kText});
  Table table(std::move(columns));
  for (int i = 0; i < findings.size(); ++i) {
    const pb::AllocationFinding& finding = findings[i];
    std::vector<std::string> cells = {
        finding.consumer_uuid(), FaultWord(finding.fault()), HeldWords(finding.held()),
        finding.repairable() ? HeldWords(finding.wanted()) : "not known", finding.message()};
    if (!outcomes.empty()) cells.push_back(outcomes[i]);
    table.Add(std::move(cells));
  }
  return table;
}

Table StaleMigrationTable(
    const google::protobuf::RepeatedPtrField<pb::StaleMigration>& migrations) {
  Table table({{"MIGRATION", Column::Kind::kExact},
               {"INSTANCE", Column::Kind::kSpare},
               {"TYPE", Column::Kind::kText},
               {"STATUS", Column::Kind::kText},
               {"FROM", Column::Kind::kText},
               {"TO", Column::Kind::kText},
               {"UNCHANGED SINCE", Column::Kind::kText},
               {"INSTANCE HOLDS", Column::Kind::kText},
               {"MIGRATION HOLDS", Column::Kind::kText}});
  for (const pb::StaleMigration& stale : migrations) {
    const pb::Migration& migration = stale.migration();
    table.Add({migration.uuid(), migration.instance_uuid(),
               ShortName(pb::MigrationType_Name(migration.type()), "MIGRATION_TYPE_"),
               migration.status(), migration.source_host(),
               migration.destination_host().empty() ? "-" : migration.destination_host(),
               TimeText(migration.updated_at()), HeldWords(stale.held_by_instance()),
               HeldWords(stale.held_by_migration())});
  }
  return table;
}

}  // namespace berth::cli
