#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/fleet.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/pages.h"
#include "services/cli/session/provider_names.h"
#include "services/cli/text/node_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr char kTracker[] = "berth-tracker";

struct ListServicesArguments {
  std::string host;
  int limit = kListed;
};

struct ServiceArguments {
  std::string service;
};

struct ForceDownArguments {
  std::string service;
  bool undo = false;
};

struct DisableArguments {
  std::string service, reason;
};

struct DeleteServiceArguments {
  std::string service;
  bool cascade = false;
};

absl::Status ListServices(Session& session, const ListServicesArguments& arguments) {
  pb::ListServicesRequest request;
  if (!arguments.host.empty()) request.set_host(arguments.host);
  BERTH_ASSIGN_OR_RETURN(const auto answer,
                         CallPaged<pb::ListServicesResponse>(session, request, arguments.limit));
  SayIfCut(session, answer, arguments.limit);
  return session.Print(answer, ServiceTable(answer.services()), UuidsOf(answer.services()));
}

// Returns the uuid of the service of the tracker on host `text`, or `text` itself if it is a uuid.
absl::StatusOr<std::string> ServiceUuid(Session& session, const std::string& text) {
  if (IsUuid(text)) return text;
  pb::ListServicesRequest request;
  request.set_host(text);
  request.set_binary(kTracker);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::ListServicesResponse>(request));
  if (!answer.services().empty()) return answer.services(0).uuid();
  return Refused(absl::StatusCode::kNotFound, "SERVICE_NOT_FOUND",
                 absl::StrCat("there is no service ", kTracker, " on a host named '", text, "'"),
                 {{{"host", text}}});
}

// Sends `request` for the service that `text` names, and prints the service after the change.
template <typename Answer, typename Request>
absl::Status Change(Session& session, const std::string& text, Request request) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ServiceUuid(session, text));
  request.set_service_uuid(uuid);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<Answer>(request));
  google::protobuf::RepeatedPtrField<pb::Service> services;
  *services.Add() = answer.service();
  return session.Print(answer, ServiceTable(services), {answer.service().uuid()});
}

absl::Status Enable(Session& session, const ServiceArguments& arguments) {
  return Change<pb::EnableServiceResponse>(session, arguments.service, pb::EnableServiceRequest());
}

absl::Status Disable(Session& session, const DisableArguments& arguments) {
  pb::DisableServiceRequest request;
  if (!arguments.reason.empty()) request.set_reason(arguments.reason);
  return Change<pb::DisableServiceResponse>(session, arguments.service, request);
}

absl::Status ForceDown(Session& session, const ForceDownArguments& arguments) {
  pb::ForceServiceDownRequest request;
  request.set_forced_down(!arguments.undo);
  return Change<pb::ForceServiceDownResponse>(session, arguments.service, request);
}

absl::Status Delete(Session& session, const DeleteServiceArguments& arguments) {
  pb::DeleteServiceRequest request;
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ServiceUuid(session, arguments.service));
  request.set_service_uuid(uuid);
  request.set_cascade(arguments.cascade);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::DeleteServiceResponse>(request));
  return session.Print(answer, absl::StrCat("deleted ", uuid, "\n"), {uuid});
}

}  // namespace

void AddServiceCommands(CLI::App& app, Session& session) {
  CLI::App* noun =
      AddNoun(app, "service", "Services: the trackers of hosts, up or down, enabled or disabled",
              "Operate");

  CLI::App* list =
      AddVerb(*noun, "list", "List the services that pass all given filters", "berth service list");
  ListServicesArguments& listing = Does(list, session, ListServices);
  list->add_option("--host", listing.host, "Only services on this host");
  AddLimit(list, &listing.limit, "List at most this many services");

  CLI::App* enable = AddVerb(*noun, "enable", "Enable a host: new allocations are made on it again",
                             "berth service enable dc1-h07");
  enable
      ->add_option("service", Does(enable, session, Enable).service,
                   "Host name, or uuid of the service")
      ->required();

  CLI::App* disable = AddVerb(*noun, "disable", "Disable a host: no new allocations are made on it",
                              "berth service disable dc1-h07 --reason 'new memory on Friday'");
  DisableArguments& disabling = Does(disable, session, Disable);
  disable->add_option("service", disabling.service, "Host name, or uuid of the service")
      ->required();
  disable->add_option("--reason", disabling.reason, "The reason");

  CLI::App* force = AddVerb(
      *noun, "force-down", "Declare a host down whatever its tracker says, or take that back",
      "berth service force-down dc1-h07\nberth service force-down dc1-h07 --undo");
  ForceDownArguments& forcing = Does(force, session, ForceDown);
  force->add_option("service", forcing.service, "Host name, or uuid of the service")->required();
  force->add_flag("--undo", forcing.undo, "The tracker's heartbeats decide again");

  CLI::App* remove =
      AddVerb(*noun, "delete", "Delete a service with its nodes and their provider trees",
              "berth service delete dc1-h07");
  DeleteServiceArguments& deleting = Does(remove, session, Delete);
  remove->add_option("service", deleting.service, "Host name, or uuid of the service")->required();
  remove->add_flag("--cascade", deleting.cascade,
                   "Also release everything that is allocated there");
}

}  // namespace berth::cli
