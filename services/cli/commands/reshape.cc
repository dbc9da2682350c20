#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/reshape.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/json.h"
#include "services/cli/session/pages.h"
#include "services/cli/session/text_file.h"
#include "services/cli/text/progress.h"
#include "services/cli/text/provider_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

struct FileArguments {
  std::string file;
  bool dry_run = false;
};

// Reads the request from a file. The dry run may be asked for by the flag or by the request itself.
template <typename Request>
absl::Status ReadRequest(const FileArguments& arguments, Request* request) {
  BERTH_ASSIGN_OR_RETURN(const auto text, ReadText(arguments.file));
  const absl::Status parsed = FromJson(text, request);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(arguments.file, ": ", parsed.message()));
  }
  if (arguments.dry_run) request->set_validate_only(true);
  return absl::OkStatus();
}

// Makes the call. Shows progress if the call takes long.
template <typename Request, typename Response>
absl::Status CallPatiently(Session& session, Request& request, Response* answer) {
  Progress progress(&session.talk(), session.screen);
  session.Server().WhileWaiting([&progress] { progress.Wait("waiting for the ledger"); });
  const absl::Status called = session.Call(request, answer);
  session.Server().WhileWaiting(nullptr);
  return called;
}

template <typename Response>
absl::Status ShowOutcome(Session& session, const Response& answer, bool dry_run, int removed) {
  const std::string counts =
      absl::StrCat(answer.providers_size(), " providers changed, ", removed, " deleted, ",
                   answer.consumer_generations().size(), " consumers changed");
  session.Say(dry_run
                  ? absl::StrCat("dry run, nothing was changed: ", counts)
                  : absl::StrCat("done at revision ", answer.revision().number(), ": ", counts));
  for (const std::string& note : OvercommitNotes(answer.overcommitted())) session.Say(note);
  for (const std::string& warning : answer.warnings()) {
    session.Say(absl::StrCat("note: ", warning));
  }
  return session.Print(answer, ProviderTable(answer.providers()), UuidsOf(answer.providers()));
}

absl::Status Reshape(Session& session, const FileArguments& arguments) {
  pb::ReshapeRequest request;
  BERTH_RETURN_IF_ERROR(ReadRequest(arguments, &request));
  pb::ReshapeResponse answer;
  BERTH_RETURN_IF_ERROR(CallPatiently(session, request, &answer));
  return ShowOutcome(session, answer, request.validate_only(), 0);
}

absl::Status ApplyTopology(Session& session, const FileArguments& arguments) {
  pb::ApplyTopologyRequest request;
  BERTH_RETURN_IF_ERROR(ReadRequest(arguments, &request));
  pb::ApplyTopologyResponse answer;
  BERTH_RETURN_IF_ERROR(CallPatiently(session, request, &answer));
  return ShowOutcome(session, answer, request.validate_only(), request.removed_providers_size());
}

void AddFile(CLI::App* command, FileArguments& arguments, const std::string& message) {
  command
      ->add_option(
          "file", arguments.file,
          absl::StrCat("A file with the request as JSON, or - for standard input; `berth describe ",
                       message, "` shows its fields"))
      ->required();
  command->add_flag("--dry-run", arguments.dry_run, "Check everything, but change nothing");
}

}  // namespace

void AddReshapeCommands(CLI::App& app, Session& session) {
  CLI::App* reshape = AddVerb(
      app, "reshape", "Move inventories and their allocations to other providers in one step",
      "berth reshape split-numa.json --dry-run\n"
      "berth reshape split-numa.json",
      "Show and change");
  AddFile(reshape, Does(reshape, session, Reshape), "ReshapeRequest");

  CLI::App* topology =
      AddNoun(app, "topology", "Topologies: change whole trees of providers in one step",
              "Show and change");
  CLI::App* apply = AddVerb(
      *topology, "apply",
      "Create, change and delete providers and allocations as a file says; others stay as they are",
      "berth topology apply dc1-h07.json --dry-run");
  AddFile(apply, Does(apply, session, ApplyTopology), "ApplyTopologyRequest");
}

}  // namespace berth::cli
