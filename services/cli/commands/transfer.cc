#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/ledger.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/json.h"
#include "services/cli/session/text_file.h"
#include "services/cli/session/transfer_file.h"
#include "services/cli/text/progress.h"
#include "services/cli/text/provider_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr char kExport[] = "/berth.placement.v1.LedgerService/ExportLedger";

struct ExportArguments {
  std::string file;
};

struct ImportArguments {
  std::string file;
  bool dry_run = false;
  bool require_empty = false;
};

// Writes the lines of an export, and checks that there are as many entities as the server
// announced.
class ExportLines {
 public:
  ExportLines(std::ostream* to, Progress* progress) : to_(to), progress_(progress) {}

  absl::Status Take(const std::string& bytes) {
    pb::ExportLedgerResponse message;
    if (!message.ParseFromString(bytes)) {
      return absl::InternalError(
          "the server's answer cannot be read: does it run another release?");
    }
    if (!begun_) *to_ << TransferHeader(message);
    begun_ = true;
    for (const pb::Entity& entity : message.entities()) *to_ << ToJson(entity, JsonForm::kLine);
    count_ += message.entities_size();
    progress_->Tell("exporting", count_, message.total_count());
    message.clear_entities();
    last_ = std::move(message);
    return to_->good() ? absl::OkStatus() : absl::DataLossError("the output cannot be written");
  }

  // The last message received, which has the revision and the number of entities.
  const pb::ExportLedgerResponse& whole() const { return last_; }
  bool complete() const { return begun_ && count_ == last_.total_count(); }

 private:
  std::ostream* const to_;
  Progress* const progress_;
  pb::ExportLedgerResponse last_;
  int64_t count_ = 0;
  bool begun_ = false;
};

absl::Status ExportTo(Session& session, std::ostream* to, pb::ExportLedgerResponse* whole) {
  Progress progress(&session.talk(), session.screen);
  ExportLines lines(to, &progress);
  BERTH_RETURN_IF_ERROR(session.Server().Stream(
      kExport, {pb::ExportLedgerRequest().SerializeAsString()}, session.settings.timeout,
      [&lines](const std::string& bytes) { return lines.Take(bytes); }));
  if (!lines.complete()) {
    return absl::DataLossError("the server sent fewer entities than it announced: export again");
  }
  to->flush();
  if (!to->good()) return absl::DataLossError("the output cannot be written");
  *whole = lines.whole();
  return absl::OkStatus();
}

std::string Summary(const pb::ExportLedgerResponse& whole) {
  return absl::StrCat(whole.total_count(), " entities at revision ", whole.revision().number(),
                      " of epoch ", whole.revision().epoch());
}

// Writes to a temporary file first and renames it at the end, so that the file `path` is complete
// or does not appear.
absl::Status ExportToFile(Session& session, const std::string& path) {
  const std::string part = path + ".part";
  pb::ExportLedgerResponse whole;
  absl::Status exported;
  {
    std::ofstream file(part);
    exported = file ? ExportTo(session, &file, &whole)
                    : absl::PermissionDeniedError(absl::StrCat("cannot write '", part, "'"));
    file.close();
    if (exported.ok() && !file.good()) {
      exported = absl::DataLossError(absl::StrCat("cannot write '", part, "'"));
    }
  }
  if (exported.ok() && std::rename(part.c_str(), path.c_str()) != 0) {
    exported = absl::PermissionDeniedError(absl::StrCat("cannot write '", path, "'"));
  }
  if (!exported.ok()) {
    (void)std::remove(part.c_str());
    return exported;
  }
  return session.Print(whole, absl::StrCat("exported ", Summary(whole), " to ", path, "\n"),
                       {path});
}

absl::Status Export(Session& session, const ExportArguments& arguments) {
  if (!arguments.file.empty() && arguments.file != "-") {
    return ExportToFile(session, arguments.file);
  }
  pb::ExportLedgerResponse whole;
  const absl::Status exported = ExportTo(session, &session.data(), &whole);
  if (exported.ok()) session.Say(absl::StrCat("exported ", Summary(whole)));
  return exported;
}

absl::StatusOr<Transfer> ReadFile(Session& session, const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const auto text, ReadText(path));
  Progress progress(&session.talk(), session.screen);
  const auto size = static_cast<int64_t>(text.size());
  return ReadTransfer(path == "-" ? "standard input" : path, text,
                      [&](int64_t read) { progress.Tell("reading", read, size); });
}

absl::Status Import(Session& session, const ImportArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(auto transfer, ReadFile(session, arguments.file));
  pb::ImportLedgerRequest& first = transfer.messages.front();
  first.set_validate_only(arguments.dry_run);
  first.set_require_empty(arguments.require_empty);
  pb::ImportLedgerResponse answer;
  absl::Status called;
  {
    Progress progress(&session.talk(), session.screen);
    called = session.Send(transfer.messages, &progress, &answer);
  }
  if (!called.ok()) {
    const std::string name = arguments.file == "-" ? "standard input" : arguments.file;
    return AtLines(called, name, transfer.lines);
  }
  for (const std::string& note : OvercommitNotes(answer.overcommitted())) session.Say(note);
  const std::string count = absl::StrCat(answer.entity_count(), " entities");
  const std::string text =
      arguments.dry_run
          ? absl::StrCat("dry run, nothing was changed: ", count, " would be imported\n")
          : absl::StrCat("imported ", count, " at revision ", answer.revision().number(), "\n");
  return session.Print(answer, text, {absl::StrCat(answer.entity_count())});
}

}  // namespace

void AddTransferCommands(CLI::App& app, Session& session) {
  CLI::App* take = AddVerb(app, "export", "Write the whole ledger at one revision to a file",
                           "berth export ledger.jsonl\n"
                           "berth export | gzip > ledger.jsonl.gz",
                           "Operate");
  take->add_option("file", Does(take, session, Export).file,
                   "The file, one line of JSON for each entity; left out: standard output");

  CLI::App* bring = AddVerb(app, "import", "Import an exported ledger, all of it or nothing",
                            "berth import ledger.jsonl --dry-run\n"
                            "berth import ledger.jsonl --require-empty",
                            "Operate");
  ImportArguments& importing = Does(bring, session, Import);
  bring
      ->add_option("file", importing.file,
                   "The file that `berth export` wrote, or - for standard input")
      ->required();
  bring->add_flag("--dry-run", importing.dry_run, "Check everything, but change nothing");
  bring->add_flag("--require-empty", importing.require_empty,
                  "Fail unless the ledger is empty (standard classes and traits do not count)");
}

}  // namespace berth::cli
