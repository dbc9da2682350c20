#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/ledger.pb.h"
#include "google/protobuf/util/time_util.h"
#include "services/cli/command.h"
#include "services/cli/failure.h"
#include "services/cli/node_view.h"
#include "services/cli/time_text.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

using google::protobuf::util::TimeUtil;

struct NoArguments {};

struct CheckArguments {
  int limit = 100;
};

struct RequestArguments {
  std::string id;
};

std::string Number(const pb::Revision& revision) {
  return absl::StrCat(revision.number(), " of epoch ", revision.epoch());
}

absl::Status Revision(Session& session, const NoArguments&) {
  pb::GetRevisionRequest request;
  pb::GetRevisionResponse answer;
  const absl::Status called = session.Call(request, &answer);
  if (!called.ok()) return called;
  std::string text =
      absl::StrCat("revision    ", Number(answer.revision()), "\nstate       ",
                   ShortName(pb::LedgerState_Name(answer.state()), "LEDGER_STATE_"), "\n");
  if (!answer.reason().empty()) absl::StrAppend(&text, "reason      ", answer.reason(), "\n");
  absl::StrAppend(&text, "time        ", TimeText(answer.ledger_time()), "\nstaleness   ",
                  TimeUtil::ToString(answer.staleness()), "\nformat      ", answer.format(), ", ",
                  answer.highest_known_format(), " at most\n");
  const absl::Status printed =
      session.Print(answer, text, {absl::StrCat(answer.revision().number())});
  if (!printed.ok() || answer.state() == pb::LEDGER_STATE_READY) return printed;
  return Refused(absl::StatusCode::kFailedPrecondition, kProblemsFound,
                 absl::StrCat("the ledger cannot be written: ", answer.reason()));
}

absl::Status Check(Session& session, const CheckArguments& arguments) {
  pb::SelfCheckRequest request;
  request.set_difference_limit(arguments.limit);
  pb::SelfCheckResponse answer;
  const absl::Status called = session.Call(request, &answer);
  if (!called.ok()) return called;
  std::string text;
  std::vector<std::string> keys;
  for (const pb::Difference& difference : answer.differences()) {
    const std::string& key = difference.entity().key();
    absl::StrAppend(&text, key, key.empty() ? "" : ": ", difference.message(), "\n");
    keys.push_back(key);
  }
  if (answer.clean()) {
    text = absl::StrCat("clean at revision ", Number(answer.revision()), ": ", answer.row_count(),
                        " rows in ", TimeUtil::ToString(answer.elapsed()), "\n");
  }
  const absl::Status printed = session.Print(answer, text, keys);
  if (!printed.ok() || answer.clean()) return printed;
  return Refused(
      absl::StatusCode::kFailedPrecondition, kProblemsFound,
      absl::StrCat("the ledger disagrees with itself in ", answer.difference_count(), " places"));
}

absl::Status Request(Session& session, const RequestArguments& arguments) {
  pb::GetRequestRequest request;
  request.set_request_id(arguments.id);
  pb::GetRequestResponse answer;
  const absl::Status called = session.Call(request, &answer);
  if (!called.ok()) return called;
  const std::string outcome =
      ShortName(pb::RequestOutcome_Name(answer.outcome()), "REQUEST_OUTCOME_");
  std::string text = outcome + "\n";
  if (answer.outcome() == pb::REQUEST_OUTCOME_APPLIED) {
    text = absl::StrCat("applied: ", answer.method(), " at revision ",
                        Number(answer.applied_revision()), "\n");
  } else if (answer.outcome() == pb::REQUEST_OUTCOME_ABSENT) {
    text = "absent: it was not done, and will not be once its deadline has passed\n";
  }
  return session.Print(answer, text, {outcome});
}

}  // namespace

void AddLedgerCommands(CLI::App& app, Session& session) {
  CLI::App* noun = AddNoun(app, "ledger", "The ledger as a whole");
  noun->group("Look after");

  CLI::App* check = AddVerb(*noun, "check", "Compare log, tables and memory; 9: they differ",
                            "berth ledger check");
  check->add_option("--limit", Does(check, session, Check).limit, "How many differences to tell")
      ->check(CLI::PositiveNumber);

  CLI::App* revision =
      AddVerb(*noun, "revision", "Show where the ledger stands", "berth ledger revision");
  Does(revision, session, Revision);

  CLI::App* request = AddVerb(app, "request", "Tell what became of a write whose answer was lost",
                              "berth request 5e08ea53-c4c6-448e-9334-ac4953de3cfa");
  request->group("Look after");
  request->add_option("id", Does(request, session, Request).id, "The request id")->required();
}

}  // namespace berth::cli
