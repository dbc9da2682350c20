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

struct DisableArguments {
  std::string service, reason;
};

int CountServices(const pb::ListServicesResponse& answer) { return answer.services_size(); }

absl::Status ListServices(Session& session, const ListServicesArguments& arguments) {
  pb::ListServicesRequest request;
  if (!arguments.host.empty()) request.set_host(arguments.host);
  pb::ListServicesResponse answer;
  BERTH_RETURN_IF_ERROR(CallPaged(session, request, arguments.limit, CountServices, &answer));
  std::vector<std::string> uuids;
  for (const pb::Service& service : answer.services()) uuids.push_back(service.uuid());
  if (!answer.next_page_token().empty()) {
    session.Say(absl::StrCat("only the first ", arguments.limit,
                             " are shown; a larger --limit shows more"));
  }
  return session.Print(answer, ServiceTable(answer.services()), uuids);
}

// Returns the uuid of the service of the tracker on host `text`, or `text` itself if it is a uuid.
absl::StatusOr<std::string> ServiceUuid(Session& session, const std::string& text) {
  if (IsUuid(text)) return text;
  pb::ListServicesRequest request;
  request.set_host(text);
  request.set_binary(kTracker);
  pb::ListServicesResponse answer;
  BERTH_RETURN_IF_ERROR(session.Call(request, &answer));
  if (!answer.services().empty()) return answer.services(0).uuid();
  return Refused(absl::StatusCode::kNotFound, "SERVICE_NOT_FOUND",
                 absl::StrCat("there is no service ", kTracker, " on a host named '", text, "'"),
                 {{{"host", text}}});
}

template <typename Answer>
absl::Status PrintChanged(Session& session, const Answer& answer) {
  google::protobuf::RepeatedPtrField<pb::Service> services;
  *services.Add() = answer.service();
  return session.Print(answer, ServiceTable(services), {answer.service().uuid()});
}

absl::Status Enable(Session& session, const ServiceArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ServiceUuid(session, arguments.service));
  pb::EnableServiceRequest request;
  request.set_service_uuid(uuid);
  pb::EnableServiceResponse answer;
  const absl::Status called = session.Call(request, &answer);
  return called.ok() ? PrintChanged(session, answer) : called;
}

absl::Status Disable(Session& session, const DisableArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ServiceUuid(session, arguments.service));
  pb::DisableServiceRequest request;
  request.set_service_uuid(uuid);
  if (!arguments.reason.empty()) request.set_reason(arguments.reason);
  pb::DisableServiceResponse answer;
  const absl::Status called = session.Call(request, &answer);
  return called.ok() ? PrintChanged(session, answer) : called;
}

}  // namespace

void AddServiceCommands(CLI::App& app, Session& session) {
  CLI::App* noun =
      AddNoun(app, "service", "Services: the trackers of hosts, up or down, enabled or disabled");
  noun->group("Operate");

  CLI::App* list =
      AddVerb(*noun, "list", "List the services that pass all given filters", "berth service list");
  ListServicesArguments& listing = Does(list, session, ListServices);
  list->add_option("--host", listing.host, "Only services on this host");
  list->add_option("--limit", listing.limit, "List at most this many services")
      ->check(CLI::PositiveNumber);

  CLI::App* enable = AddVerb(*noun, "enable", "Enable a host: it gets new work again",
                             "berth service enable dc1-h07");
  enable
      ->add_option("service", Does(enable, session, Enable).service,
                   "Host name, or uuid of the service")
      ->required();

  CLI::App* disable = AddVerb(*noun, "disable", "Disable a host: it gets no new work",
                              "berth service disable dc1-h07 --reason 'new memory on Friday'");
  DisableArguments& disabling = Does(disable, session, Disable);
  disable->add_option("service", disabling.service, "Host name, or uuid of the service")
      ->required();
  disable->add_option("--reason", disabling.reason, "The reason");
}

}  // namespace berth::cli
