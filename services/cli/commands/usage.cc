#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/inventory.pb.h"
#include "berth/placement/v1/provider.pb.h"
#include "berth/placement/v1/usage.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/commands/inventory.h"
#include "services/cli/session/pages.h"
#include "services/cli/session/provider_names.h"
#include "services/cli/text/usage_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int kRowsMax = 1000;

struct UsageArguments {
  std::string provider, project, user, type, by;
  std::vector<std::string> classes;
};

absl::Status OfProvider(Session& session, const UsageArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  BERTH_ASSIGN_OR_RETURN(const auto answer, InventoriesOf(session, uuid));
  return session.Print(answer, UsageTable(answer.inventories(), session.screen), {uuid});
}

absl::Status OfProject(Session& session, const UsageArguments& arguments) {
  pb::GetUsagesRequest request;
  request.set_project_id(arguments.project);
  if (!arguments.user.empty()) request.set_user_id(arguments.user);
  if (!arguments.type.empty()) request.set_consumer_type(arguments.type);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::GetUsagesResponse>(request));
  return session.Print(answer, ProjectUsageTable(answer), {arguments.project});
}

pb::UsageGrouping GroupingOf(const std::string& by) {
  if (by == "aggregate") return pb::USAGE_GROUPING_AGGREGATE;
  if (by == "trait") return pb::USAGE_GROUPING_TRAIT;
  if (by == "project") return pb::USAGE_GROUPING_PROJECT;
  return by == "type" ? pb::USAGE_GROUPING_CONSUMER_TYPE : pb::USAGE_GROUPING_ROOT;
}

absl::Status OfAll(Session& session, const UsageArguments& arguments) {
  pb::ReportUsagesRequest request;
  request.set_grouping(GroupingOf(arguments.by));
  for (const std::string& name : Listed(arguments.classes)) request.add_resource_classes(name);
  BERTH_ASSIGN_OR_RETURN(const auto answer,
                         CallPaged<pb::ReportUsagesResponse>(session, request, kRowsMax));
  if (!answer.next_page_token().empty()) {
    session.Say(absl::StrCat("only the first ", kRowsMax,
                             " rows are shown; `berth call UsageService/ReportUsages` "
                             "shows the rest"));
  }
  std::vector<std::string> keys;
  for (const pb::UsageRow& row : answer.rows()) keys.push_back(row.key());
  return session.Print(answer, UsageReportTable(answer, session.screen), keys);
}

absl::Status Usage(Session& session, const UsageArguments& arguments) {
  if (!arguments.provider.empty() && !arguments.project.empty()) {
    return absl::InvalidArgumentError("name either a provider or --project NAME");
  }
  if (!arguments.provider.empty()) return OfProvider(session, arguments);
  return arguments.project.empty() ? OfAll(session, arguments) : OfProject(session, arguments);
}

}  // namespace

void AddUsageCommand(CLI::App& app, Session& session) {
  CLI::App* command =
      AddVerb(app, "usage", "Show how full a provider is, or how full all hosts are",
              "berth usage dc1-h07\nberth usage --project team-a\n"
              "berth usage --by aggregate --class VCPU --sort -used",
              "Find and claim");
  UsageArguments& arguments = Does(command, session, Usage);
  command->add_option("provider", arguments.provider,
                      "Name or uuid of the provider; left out: all hosts");
  command->add_option("--project", arguments.project, "Show what this project holds");
  command->add_option("--user", arguments.user, "With --project: only what this user holds");
  command->add_option("--type", arguments.type, "With --project: only consumers of this type");
  command
      ->add_option("--by", arguments.by, "One row for each root, aggregate, trait, project or type")
      ->check(CLI::IsMember({"root", "aggregate", "trait", "project", "type"}));
  AddList(command, "--class", &arguments.classes, "Only these resource classes");
}

}  // namespace berth::cli
