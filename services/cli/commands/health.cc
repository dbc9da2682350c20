#include <string>

#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/failure.h"

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

}  // namespace

void AddHealthCommand(CLI::App& app, Session& session) {
  CLI::App* command =
      AddVerb(app, "health", "Ask a server whether it accepts calls",
              "berth health --service berth.placement.v1.ProviderService", "Operate");
  HealthArguments& arguments = Does(command, session, Health);
  command->add_option("--service", arguments.service,
                      "Ask about this gRPC service; left out: the whole server");
}

}  // namespace berth::cli
