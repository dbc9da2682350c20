#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "berth/placement/v1/candidate.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/commands/query_options.h"
#include "services/cli/session/failure.h"
#include "services/cli/text/candidate_view.h"
#include "services/cli/text/explain_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int kLimit = 20;
constexpr int kNearMissesShown = 5;

struct CandidateArguments {
  QueryOptions query;
  OrderOptions order;
  int limit = kLimit;
  bool explain = false;
};

// Prints an explanation of why nothing fits, if the server gives one. If the query itself is wrong,
// the error has been reported before.
void SayWhy(Session& session, const pb::CandidateQuery& query) {
  pb::ExplainRequest request;
  *request.mutable_query() = query;
  request.set_near_miss_limit(kNearMissesShown);
  pb::ExplainResponse answer;
  if (!session.Call(request, &answer).ok()) return;
  session.Say(absl::StripSuffix(ExplanationPage(answer.explanation(), session.screen), "\n"));
}

absl::Status Candidates(Session& session, const CandidateArguments& arguments) {
  pb::FindCandidatesRequest request;
  BERTH_ASSIGN_OR_RETURN(*request.mutable_query(), QueryOf(session, arguments.query));
  BERTH_ASSIGN_OR_RETURN(*request.mutable_order(), OrderOf(arguments.order));
  request.set_limit(arguments.limit);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::FindCandidatesResponse>(request));
  if (answer.seed() != 0) {
    session.Say(
        absl::StrCat("chosen at random; to get the same answer again, use --seed ", answer.seed()));
  }
  if (answer.truncated()) session.Say("the search was cut short: there may be more candidates");
  std::vector<std::string> roots;
  for (const pb::Candidate& candidate : answer.candidates()) {
    roots.push_back(candidate.root_uuid());
  }
  const bool none = answer.candidates().empty();
  const bool reads = session.settings.format == Format::kTable;
  if (reads && (none || arguments.explain)) SayWhy(session, request.query());
  const absl::Status printed =
      none && reads ? absl::OkStatus() : session.Print(answer, CandidateTable(answer), roots);
  if (!printed.ok() || !none) return printed;
  return Refused(absl::StatusCode::kFailedPrecondition, kNothingFits,
                 "the request fits on no host");
}

}  // namespace

void AddCandidateCommand(CLI::App& app, Session& session) {
  CLI::App* command =
      AddVerb(app, "candidates", "Find the providers that a request fits on, and allocate nothing",
              "berth candidates --resources VCPU=4,MEMORY_MB=8Gi --required HW_CPU_X86_AVX2\n"
              "berth candidates -r VCPU=4 --group _GPU:PGPU=1:required=CUSTOM_A100",
              "Find and claim");
  CandidateArguments& arguments = Does(command, session, Candidates);
  AddQueryOptions(command, &arguments.query);
  AddOrderOptions(command, &arguments.order);
  AddLimit(command, &arguments.limit, "List at most this many candidates");
  command->add_flag("--explain", arguments.explain,
                    "Also show how many hosts are left after each constraint");
}

}  // namespace berth::cli
