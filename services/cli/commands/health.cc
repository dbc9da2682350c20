#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "berth/access/v1/access_service.pb.h"
#include "grpc/health/v1/health.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/failure.h"
#include "services/cli/text/table.h"
#include "services/cli/text/time_text.h"

namespace berth::cli {
namespace {

namespace health = ::grpc::health::v1;

struct HealthArguments {
  std::string service;
};

absl::Status Health(Session& session, const HealthArguments& arguments) {
  health::HealthCheckRequest request;
  request.set_service(arguments.service);
  health::HealthCheckResponse answer;
  const absl::Status called = session.Call(request, &answer);
  if (called.code() == absl::StatusCode::kNotFound) {
    return Refused(absl::StatusCode::kNotFound, "SERVICE_UNKNOWN",
                   absl::StrCat("the server at ", session.settings.endpoint, " has no service '",
                                arguments.service, "'; `berth list` shows its services"),
                   {{{"service", arguments.service}}});
  }
  if (!called.ok()) return called;
  const std::string status = health::HealthCheckResponse::ServingStatus_Name(answer.status());
  const std::string what = arguments.service.empty() ? "server" : arguments.service;
  const absl::Status printed = session.Print(
      answer, absl::StrCat(what, " at ", session.settings.endpoint, ": ", status, "\n"), {status});
  if (!printed.ok() || answer.status() == health::HealthCheckResponse::SERVING) return printed;
  return Refused(absl::StatusCode::kFailedPrecondition, kProblemsFound,
                 absl::StrCat("the ", what, " does not accept calls: ", status));
}

namespace acl = ::berth::access::v1;

struct CanIArguments {
  std::string method;
};

std::string RoleName(acl::Role role) {
  return absl::AsciiStrToLower(absl::StripPrefix(acl::Role_Name(role), "ROLE_"));
}

std::string RoleNames(const acl::MethodPermission& method) {
  std::vector<std::string> names;
  for (const int role : method.roles()) names.push_back(RoleName(static_cast<acl::Role>(role)));
  return absl::StrJoin(names, ", ");
}

// The caller as placement records it: "scheduler/NAME".
std::string ActorIn(const acl::WhoAmIResponse& answer) {
  if (!answer.identified()) return "anonymous";
  return absl::StrCat(RoleName(answer.role()), "/", answer.name());
}

absl::Status WhoAmI(Session& session, const NoArguments&) {
  acl::WhoAmIRequest request;
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<acl::WhoAmIResponse>(request));
  const std::string actor = ActorIn(answer);
  if (!answer.identified()) {
    return session.Print(
        answer, actor + ": the connection has no certificate, every call is allowed\n", {actor});
  }
  const absl::Time end = absl::FromUnixSeconds(answer.expire_time().seconds());
  return session.Print(
      answer,
      absl::StrCat(actor, " of ", answer.trust_domain(), ", until ",
                   absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", end, absl::UTCTimeZone()), "\n"),
      {actor});
}

absl::Status CanI(Session& session, const CanIArguments& arguments) {
  acl::WhoAmIRequest request;
  request.add_methods(arguments.method);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<acl::WhoAmIResponse>(request));
  const acl::MethodPermission& method = answer.methods(0);
  const std::string yes_or_no = method.permitted() ? "yes" : "no";
  std::string text =
      absl::StrCat(yes_or_no, ": ", ActorIn(answer),
                   method.permitted() ? " may call " : " may not call ", method.method());
  if (!method.permitted()) absl::StrAppend(&text, "; allowed roles: ", RoleNames(method));
  if (method.permitted() && method.forbidden_fields_size() > 0) {
    absl::StrAppend(&text, ", but may not set ", absl::StrJoin(method.forbidden_fields(), ", "));
  }
  const absl::Status printed = session.Print(answer, text + "\n", {yes_or_no});
  if (!printed.ok() || method.permitted()) return printed;
  return Refused(absl::StatusCode::kPermissionDenied, "ROLE_NOT_PERMITTED",
                 absl::StrCat(ActorIn(answer), " may not call ", method.method()),
                 {{{"method", method.method()}, {"roles", RoleNames(method)}}});
}

// For example "facts_mib 256, names 100".
std::string LimitsIn(const acl::DailyLimits& daily) {
  std::vector<std::string> limits;
  if (daily.has_facts_mib()) limits.push_back(absl::StrCat("facts_mib ", daily.facts_mib()));
  if (daily.has_names()) limits.push_back(absl::StrCat("names ", daily.names()));
  if (daily.has_providers()) limits.push_back(absl::StrCat("providers ", daily.providers()));
  if (daily.has_nodes()) limits.push_back(absl::StrCat("nodes ", daily.nodes()));
  if (daily.has_services()) limits.push_back(absl::StrCat("services ", daily.services()));
  return absl::StrJoin(limits, ", ");
}

// What the access file says, a line for each rule.
Table AccessTable(const acl::GetAccessRulesResponse& answer) {
  Table table({{"IDENTITY", Column::Kind::kExact}, {"RULE"}, {"DETAIL"}});
  for (const auto& denied : answer.denied()) {
    table.Add({denied.identity(), "denied", denied.reason()});
  }
  for (const auto& scheduler : answer.schedulers()) {
    table.Add({scheduler.identity(), "projects",
               scheduler.projects().empty() ? "none" : absl::StrJoin(scheduler.projects(), ", ")});
  }
  for (const auto& rate : answer.rates()) {
    table.Add({rate.identity(), "rate",
               absl::StrCat(rate.calls_per_second(), " a second, ", rate.burst(), " at once")});
  }
  if (!answer.withheld_traits().empty()) {
    table.Add({"tracker", "withheld traits", absl::StrJoin(answer.withheld_traits(), ", ")});
  }
  if (!answer.withheld_resource_classes().empty()) {
    table.Add(
        {"tracker", "withheld classes", absl::StrJoin(answer.withheld_resource_classes(), ", ")});
  }
  for (const auto& ceilings : answer.ceilings()) {
    const std::map<std::string, int64_t> sorted(ceilings.totals().begin(), ceilings.totals().end());
    table.Add(
        {ceilings.identity(), "ceilings", absl::StrJoin(sorted, ", ", absl::PairFormatter(" "))});
  }
  for (const auto& daily : answer.daily()) {
    table.Add({daily.identity(), "daily", LimitsIn(daily)});
  }
  return table;
}

absl::Status ShowAccess(Session& session, const NoArguments&) {
  acl::GetAccessRulesRequest request;
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<acl::GetAccessRulesResponse>(request));
  if (!answer.fault().empty()) {
    session.Say(absl::StrCat("the newest text is not in force: ", answer.fault()));
  }
  if (answer.file().empty()) {
    return session.Print(answer, "there is no access file: nothing is limited\n", {});
  }
  session.Say(absl::StrCat(answer.file(), " is in force since ", TimeText(answer.since()),
                           ", digest ", answer.digest()));
  return session.Print(answer, AccessTable(answer), {answer.digest()});
}

}  // namespace

void AddHealthCommand(CLI::App& app, Session& session) {
  CLI::App* command = AddVerb(app, "health", "Ask a server whether it accepts calls",
                              "berth health --service berth.placement.v1.ProviderService\n"
                              "berth health --server-settings /etc/berth/placement.toml",
                              "Operate");
  HealthArguments& arguments = Does(command, session, Health);
  command->add_option("--service", arguments.service,
                      "Ask about this gRPC service; left out: the whole server");
  command
      ->add_option("--server-settings", session.server_settings,
                   "Ask the server that runs with this settings file (or with the file in "
                   "BERTH_CONFIG) and with these BERTH_* variables, at its first address and "
                   "with its own certificate")
      ->type_name("FILE");
}

void AddAuthCommands(CLI::App& app, Session& session) {
  CLI::App* auth =
      AddNoun(app, "auth", "Who the server takes you for, and what you may do", "Operate");
  CLI::App* who = AddVerb(*auth, "whoami", "Show the identity in your certificate",
                          "berth auth whoami -o json");
  Does(who, session, WhoAmI);
  CLI::App* can = AddVerb(*auth, "can-i", "Tell whether you may call a method; if not, exit with 6",
                          "berth auth can-i CandidateService/Claim");
  CanIArguments& arguments = Does(can, session, CanI);
  can->add_option("METHOD", arguments.method, "The method, with or without its package and service")
      ->required();
  CLI::App* show = AddVerb(*auth, "show", "Show what the access file says, which is in force",
                           "berth auth show -o json");
  Does(show, session, ShowAccess);
}

}  // namespace berth::cli
