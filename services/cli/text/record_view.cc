#include "services/cli/text/record_view.h"

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/display_width.h"
#include "services/cli/text/guest_view.h"
#include "services/cli/text/node_view.h"
#include "services/cli/text/time_text.h"
#include "services/cli/text/titled_lines.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

std::string HostWords(const std::string& host, const std::string& node, const char* none) {
  if (host.empty()) return none;
  return node.empty() ? host : absl::StrCat(host, ", node ", node);
}

std::string TextOr(const std::string& text, const char* none) { return text.empty() ? none : text; }

std::string ImageWords(const pb::Image& image) {
  return absl::StrCat(TextOr(image.id(), "without an id"), image.properties().empty() ? "" : ", ",
                      PropertyWords(image.properties()));
}

std::string FaultWords(const pb::InstanceFault& fault) {
  std::string words = absl::StrCat(fault.code(), " ", fault.message());
  if (!fault.host().empty()) absl::StrAppend(&words, ", on ", fault.host());
  if (fault.has_occurred_at()) absl::StrAppend(&words, ", ", TimeText(fault.occurred_at()));
  return words;
}

std::string RetryWords(const pb::BuildRetry& retry) {
  std::string words =
      absl::StrCat(retry.attempts(), retry.attempts() == 1 ? " attempt" : " attempts");
  if (retry.hosts().empty()) return words;
  return absl::StrCat(words, ", failed on ", absl::StrJoin(retry.hosts(), ", "));
}

// The lines that only some instances have.
void AddRareLines(const pb::Instance& instance, TitledLines* lines) {
  if (!instance.launched_on().empty() && instance.launched_on() != instance.host()) {
    lines->emplace_back("last build", "claimed by " + instance.launched_on());
  }
  if (instance.has_image()) lines->emplace_back("image", ImageWords(instance.image()));
  if (!instance.group_uuid().empty()) lines->emplace_back("group", instance.group_uuid());
  if (instance.hidden()) lines->emplace_back("hidden", "yes: a copy that exists during a move");
  if (instance.has_fault()) lines->emplace_back("failure", FaultWords(instance.fault()));
  if (instance.has_retry()) lines->emplace_back("build", RetryWords(instance.retry()));
}

TitledLines LinesOf(const pb::ServerGroup& group) {
  return {{"name", group.name().empty() ? "none" : group.name()},
          {"uuid", group.uuid()},
          {"policy", PolicyWord(group)},
          {"project", group.project_id()},
          {"user", group.user_id()},
          {"created", TimeText(group.created_at())},
          {"changed", TimeText(group.updated_at())},
          {"generation", absl::StrCat(group.generation())}};
}

}  // namespace

std::string StateOf(const pb::Instance& instance) {
  if (instance.task_state().empty()) return instance.vm_state();
  return absl::StrCat(instance.vm_state(), ", task ", instance.task_state());
}

std::string TypeWord(const pb::Migration& migration) {
  return ShortName(pb::MigrationType_Name(migration.type()), "MIGRATION_TYPE_");
}

Table InstanceTable(const google::protobuf::RepeatedPtrField<pb::Instance>& instances) {
  Table table({{"UUID", Column::Kind::kExact},
               {"NAME", Column::Kind::kText},
               {"HOST", Column::Kind::kText},
               {"STATE", Column::Kind::kText},
               {"VCPUS", Column::Kind::kNumber},
               {"MEMORY", Column::Kind::kNumber},
               {"DISK", Column::Kind::kSpare},
               {"PROJECT", Column::Kind::kSpare}});
  for (const pb::Instance& instance : instances) {
    const pb::Flavor& flavor = instance.flavor();
    table.Add({instance.uuid(), instance.name(), TextOr(instance.host(), "-"), StateOf(instance),
               absl::StrCat(flavor.vcpus()), SizeOf("MEMORY_MB", flavor.memory_mib()),
               SizeOf("DISK_GB", flavor.root_disk_gib() + flavor.ephemeral_disk_gib()),
               instance.project_id()});
  }
  return table;
}

Table MigrationTable(const google::protobuf::RepeatedPtrField<pb::Migration>& migrations) {
  Table table({{"UUID", Column::Kind::kExact},
               {"TYPE", Column::Kind::kText},
               {"STATUS", Column::Kind::kText},
               {"FROM", Column::Kind::kText},
               {"TO", Column::Kind::kText},
               {"INSTANCE", Column::Kind::kSpare}});
  for (const pb::Migration& migration : migrations) {
    table.Add({migration.uuid(), TypeWord(migration), migration.status(), migration.source_host(),
               TextOr(migration.destination_host(), "-"), migration.instance_uuid()});
  }
  return table;
}

std::string InstancePage(const pb::Instance& instance, const Screen& screen) {
  TitledLines lines = {{"name", TextOr(instance.name(), "none")},
                       {"uuid", instance.uuid()},
                       {"host", HostWords(instance.host(), instance.node_uuid(), "none")},
                       {"state", StateOf(instance)}};
  if (instance.power_state() != pb::GUEST_STATE_UNSPECIFIED) {
    lines.emplace_back("guest",
                       ShortName(pb::GuestState_Name(instance.power_state()), "GUEST_STATE_"));
  }
  lines.emplace_back("project", instance.project_id());
  lines.emplace_back("user", instance.user_id());
  AddRareLines(instance, &lines);
  if (instance.has_migration_context()) {
    lines.emplace_back("migration", instance.migration_context().migration_uuid());
  }
  lines.emplace_back("created", TimeText(instance.created_at()));
  lines.emplace_back("changed", TimeText(instance.updated_at()));
  if (instance.has_deleted_at()) lines.emplace_back("deleted", TimeText(instance.deleted_at()));
  lines.emplace_back("generation", absl::StrCat(instance.generation()));
  return absl::StrCat(Render(lines), "\n", GuestTables(instance, screen));
}

std::string MigrationPage(const pb::Migration& migration) {
  TitledLines lines = {
      {"uuid", migration.uuid()},
      {"instance", migration.instance_uuid()},
      {"type", TypeWord(migration)},
      {"status", migration.status()},
      {"from", HostWords(migration.source_host(), migration.source_node_uuid(), "unknown")},
      {"to", HostWords(migration.destination_host(), migration.destination_node_uuid(),
                       "not known yet")}};
  const std::string& before = migration.old_flavor_id();
  const std::string& after = migration.new_flavor_id();
  if (!before.empty() || !after.empty()) {
    lines.emplace_back("flavor", before == after ? before
                                                 : absl::StrCat(TextOr(before, "unknown"), " to ",
                                                                TextOr(after, "unknown")));
  }
  lines.emplace_back("created", TimeText(migration.created_at()));
  lines.emplace_back("changed", TimeText(migration.updated_at()));
  lines.emplace_back("generation", absl::StrCat(migration.generation()));
  return Render(lines);
}

std::string PolicyWord(const pb::ServerGroup& group) {
  const std::string word = absl::StrReplaceAll(
      ShortName(pb::ServerGroupPolicy_Name(group.policy()), "SERVER_GROUP_POLICY_"), {{"_", "-"}});
  if (group.max_server_per_host() <= 1) return word;
  return absl::StrCat(word, ":", group.max_server_per_host());
}

Table GroupTable(const google::protobuf::RepeatedPtrField<pb::ServerGroup>& groups) {
  Table table({{"UUID", Column::Kind::kExact},
               {"NAME", Column::Kind::kText},
               {"POLICY", Column::Kind::kText},
               {"PROJECT", Column::Kind::kSpare}});
  for (const pb::ServerGroup& group : groups) {
    table.Add({group.uuid(), group.name(), PolicyWord(group), group.project_id()});
  }
  return table;
}

std::string GroupPage(const pb::ServerGroup& group) { return Render(LinesOf(group)); }

std::string GroupPage(const pb::GetServerGroupResponse& answer) {
  TitledLines lines = LinesOf(answer.group());
  lines.emplace_back("members", absl::StrCat(answer.members_size()));
  std::string page = Render(lines);
  if (answer.members().empty()) return page;
  absl::StrAppend(&page, "\n");
  for (const pb::ServerGroupMember& member : answer.members()) {
    const std::string hosts = absl::StrJoin(member.hosts(), ", ");
    absl::StrAppend(&page, member.instance_uuid(), "  ", hosts.empty() ? "-" : hosts, "\n");
  }
  return page;
}

Table AggregateTable(const google::protobuf::RepeatedPtrField<pb::Aggregate>& aggregates) {
  Table table({{"UUID", Column::Kind::kExact},
               {"NAME", Column::Kind::kText},
               {"METADATA", Column::Kind::kText}});
  for (const pb::Aggregate& aggregate : aggregates) {
    table.Add({aggregate.uuid(), aggregate.name(), PropertyWords(aggregate.metadata())});
  }
  return table;
}

std::string AggregatePage(const pb::Aggregate& aggregate) {
  std::string page = Render({{"name", aggregate.name()},
                             {"uuid", aggregate.uuid()},
                             {"created", TimeText(aggregate.created_at())},
                             {"changed", TimeText(aggregate.updated_at())},
                             {"generation", absl::StrCat(aggregate.generation())}});
  if (aggregate.metadata().empty()) return page;
  absl::StrAppend(&page, "\n");
  const std::map<std::string, std::string> sorted(aggregate.metadata().begin(),
                                                  aggregate.metadata().end());
  for (const auto& [key, value] : sorted) {
    absl::StrAppend(&page, Printable(key), "=", Printable(value), "\n");
  }
  return page;
}

}  // namespace berth::cli
