#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/ledger.pb.h"
#include "google/protobuf/util/time_util.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/pages.h"
#include "services/cli/text/node_view.h"
#include "services/cli/text/revision_text.h"
#include "services/cli/text/table.h"
#include "services/cli/text/time_text.h"
#include "services/cli/text/watch_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

using google::protobuf::util::TimeUtil;

struct CheckArguments {
  int limit = 100;
};

struct RequestArguments {
  std::string id;
  bool cancel = false;
};

struct LostArguments {
  int limit = 1000;
};

struct FormatArguments {
  int format = 0;
};

struct StartEpochArguments {
  std::string expected, reason;
};

absl::Status Revision(Session& session, const NoArguments&) {
  pb::GetRevisionRequest request;
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::GetRevisionResponse>(request));
  std::string text =
      absl::StrCat("revision    ", RevisionText(answer.revision()), "\nstate       ",
                   ShortName(pb::LedgerState_Name(answer.state()), "LEDGER_STATE_"), "\n");
  if (!answer.reason().empty()) absl::StrAppend(&text, "reason      ", answer.reason(), "\n");
  absl::StrAppend(&text, "time        ", TimeText(answer.ledger_time()), "\nstaleness   ",
                  TimeUtil::ToString(answer.staleness()), "\nformat      ", answer.format(), ", ",
                  answer.highest_known_format(), " is the highest known\n");
  const absl::Status printed =
      session.Print(answer, text, {absl::StrCat(answer.revision().number())});
  if (!printed.ok() || answer.state() == pb::LEDGER_STATE_READY) return printed;
  return Refused(absl::StatusCode::kFailedPrecondition, kProblemsFound,
                 absl::StrCat("the ledger does not accept writes: ", answer.reason()));
}

absl::Status Check(Session& session, const CheckArguments& arguments) {
  pb::SelfCheckRequest request;
  request.set_difference_limit(arguments.limit);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::SelfCheckResponse>(request));
  std::string text;
  std::vector<std::string> keys;
  for (const pb::Difference& difference : answer.differences()) {
    const std::string& key = difference.entity().key();
    absl::StrAppend(&text, key, key.empty() ? "" : ": ", difference.message(), "\n");
    keys.push_back(key);
  }
  if (answer.clean()) {
    text = absl::StrCat("no differences at revision ", RevisionText(answer.revision()), ": ",
                        answer.row_count(), " rows read in ", TimeUtil::ToString(answer.elapsed()),
                        "\n");
  }
  const absl::Status printed = session.Print(answer, text, keys);
  if (!printed.ok() || answer.clean()) return printed;
  return Refused(absl::StatusCode::kFailedPrecondition, kProblemsFound,
                 absl::StrCat("the self-check found ", answer.difference_count(), " differences"));
}

absl::Status Lost(Session& session, const LostArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto answer,
                         CallPaged<pb::ListLostChangesResponse>(
                             session, pb::ListLostChangesRequest(), arguments.limit));
  session.Say(absl::StrCat("the last good revision is ", RevisionText(answer.revision()),
                           "; the newest revision in the database is ",
                           RevisionText(answer.database_revision())));
  SayIfCut(session, answer, arguments.limit);
  Table table({{"KIND", Column::Kind::kText},
               {"KEY", Column::Kind::kExact},
               {"LAST GOOD", Column::Kind::kText},
               {"IN DATABASE", Column::Kind::kText}});
  std::vector<std::string> keys;
  for (const pb::LostChange& change : answer.changes()) {
    table.Add({KindWords(change.key().kind()), change.key().key(),
               change.has_last_good() ? TextOf(change.last_good()).details : "-",
               change.has_in_database() ? TextOf(change.in_database()).details : "-"});
    keys.push_back(change.key().key());
  }
  return session.Print(answer, std::move(table), keys);
}

absl::Status SetFormat(Session& session, const FormatArguments& arguments) {
  pb::SetFormatRequest request;
  request.set_format(arguments.format);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::SetFormatResponse>(request));
  return session.Print(answer,
                       absl::StrCat("the log is in format ", arguments.format, " from revision ",
                                    RevisionText(answer.revision()), " on\n"),
                       {absl::StrCat(arguments.format)});
}

absl::Status StartEpoch(Session& session, const StartEpochArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto expected, ParseRevision(arguments.expected));
  pb::StartEpochRequest request;
  *request.mutable_expected_database_revision() = expected;
  request.set_reason(arguments.reason);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::StartEpochResponse>(request));
  return session.Print(answer, absl::StrCat("revision ", RevisionText(answer.revision()), "\n"),
                       {absl::StrCat(answer.revision().epoch())});
}

absl::Status Request(Session& session, const RequestArguments& arguments) {
  pb::GetRequestRequest request;
  request.set_request_id(arguments.id);
  request.set_cancel_if_absent(arguments.cancel);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::GetRequestResponse>(request));
  const std::string outcome =
      ShortName(pb::RequestOutcome_Name(answer.outcome()), "REQUEST_OUTCOME_");
  std::string text = outcome + "\n";
  if (answer.outcome() == pb::REQUEST_OUTCOME_APPLIED) {
    text = absl::StrCat("applied: ", answer.method(), " at revision ",
                        RevisionText(answer.applied_revision()), "\n");
  } else if (answer.outcome() == pb::REQUEST_OUTCOME_ABSENT) {
    text = "absent: the write has not been done; with --cancel it never will be\n";
  } else if (answer.outcome() == pb::REQUEST_OUTCOME_CANCELLED) {
    text = "cancelled: the write has not been done and will not be\n";
  }
  return session.Print(answer, text, {outcome});
}

// Adds the commands for a database that has lost changes, for example in a restore.
void AddRecovery(CLI::App* noun, Session& session) {
  CLI::App* lost = AddVerb(*noun, "lost",
                           "List the changes that the database has lost, for example in a restore",
                           "berth ledger lost");
  AddLimit(lost, &Does(lost, session, Lost).limit, "List at most this many lost changes");

  CLI::App* epoch = AddVerb(
      *noun, "start-epoch", "Accept a database that has lost changes, and allow writes again",
      "berth ledger start-epoch 1:48231 --reason 'restored from the backup of Monday'");
  StartEpochArguments& starting = Does(epoch, session, StartEpoch);
  epoch
      ->add_option(
          "revision", starting.expected,
          "The newest revision in the database, as `berth ledger lost` prints it: [EPOCH:]NUMBER")
      ->required();
  epoch->add_option("--reason", starting.reason, "The reason, for the log")->required();
}

}  // namespace

void AddLedgerCommands(CLI::App& app, Session& session) {
  CLI::App* noun = AddNoun(
      app, "ledger", "The ledger (everything that placement keeps): its state, checks and recovery",
      "Operate");
  CLI::App* check = AddVerb(
      *noun, "check",
      "Compare the database's change log and its tables with each other and with placement's "
      "memory; exit code 9: they differ",
      "berth ledger check");
  AddLimit(check, &Does(check, session, Check).limit, "List at most this many differences");

  CLI::App* revision =
      AddVerb(*noun, "revision", "Show the newest revision and the state of the ledger",
              "berth ledger revision");
  Does(revision, session, Revision);

  AddRecovery(noun, session);

  CLI::App* format = AddVerb(
      *noun, "format",
      "After an upgrade of all placement processes, allow a new format of the change log; older "
      "releases then cannot read it",
      "berth ledger format 1");
  format
      ->add_option("format", Does(format, session, SetFormat).format,
                   "The new format; `berth ledger revision` shows the present one and the highest "
                   "possible one")
      ->required();

  CLI::App* request =
      AddVerb(app, "request", "Show whether a write was done, if its answer was lost",
              "berth request 5e08ea53-c4c6-448e-9334-ac4953de3cfa", "Operate");
  RequestArguments& asking = Does(request, session, Request);
  request->add_option("id", asking.id, "The request id of the write")->required();
  request->add_flag("--cancel", asking.cancel,
                    "If the write was not done, prevent it from being done later");
}

}  // namespace berth::cli
