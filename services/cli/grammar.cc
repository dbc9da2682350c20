#include "services/cli/grammar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/failure.h"
#include "services/process/version.h"

namespace berth::cli {
namespace {

constexpr char kFooter[] = R"(Try:
  berth provider tree                                    show all hosts and how full they are
  berth candidates --resources VCPU=4,MEMORY_MB=8Gi      find hosts on which this fits
  berth explain --resources VCPU=64                      explain why this fits on no host
  berth claim --resources VCPU=4,MEMORY_MB=8Gi           allocate this on a host
  berth call LedgerService/GetRevision                   call any method of the server

A provider is given by its name or its uuid. A size may be written as 512Mi, 8Gi or 2Ti.
A setting comes from its flag, else from the environment (BERTH_ENDPOINT and so on), else from
~/.config/berth/config.toml.

Exit codes: 0 success, 1 other error, 2 wrong usage, 3 not found, 4 conflict, 5 does not fit,
6 no permission, 7 server not reachable, 8 outcome unknown, 9 a check found problems,
130 interrupted)";

absl::Status Version(Session& session, const NoArguments&) {
  return session.PrintJson(absl::StrCat("{\n  \"version\": \"", services::kVersion, "\"\n}\n"),
                           absl::StrCat("berth ", services::kVersion, "\n"), {services::kVersion});
}

void AddSettingText(CLI::App& app, const std::string& flags, const std::string& name, Said* said,
                    const std::string& type, const std::string& description) {
  app.add_option_function<std::string>(
         flags, [said, name](const std::string& value) { (*said)[name] = value; }, description)
      ->type_name(type)
      ->group("Options of every command");
}

void AddFlag(CLI::App& app, const std::string& name, Said* said, const std::string& description) {
  app.add_flag_function(
         "--" + name, [said, name](int64_t) { (*said)[name] = "true"; }, description)
      ->group("Options of every command");
}

void AddOptions(CLI::App& app, Said* flags) {
  AddSettingText(app, "-e,--endpoint", "endpoint", flags, "HOST:PORT",
                 absl::StrCat("The server; unix:PATH is possible too [", Settings().endpoint, "]"));
  AddSettingText(app, "-o,--output", "output", flags, "FORMAT",
                 "How to print: table, json or name [table]");
  AddSettingText(app, "--tls-certificate", "tls-certificate", flags, "FILE",
                 "Your certificate (PEM), then those that lead to the CA");
  AddSettingText(app, "--tls-key", "tls-key", flags, "FILE",
                 "The private key of your certificate (PEM)");
  AddSettingText(app, "--tls-ca", "tls-ca", flags, "FILE", "The CAs that are trusted (PEM)");
  AddSettingText(app, "--trust-domain", "trust-domain", flags, "DOMAIN",
                 "DOMAIN in the ids spiffe://DOMAIN/ROLE/NAME of all certificates");
  AddSettingText(app, "--timeout", "timeout", flags, "TIME",
                 "How long each call may take, such as 5s [10s]");
  AddSettingText(
      app, "--request-id", "request-id", flags, "ID",
      "To repeat a write safely, give its id again: a write that was done is not done twice "
      "[random]");
  AddSettingText(app, "--columns", "columns", flags, "A,B", "Print only these columns of a table");
  AddSettingText(app, "--sort", "sort", flags, "COLUMN",
                 "Sort a table by this column; -COLUMN: descending");
  AddFlag(app, "no-color", flags,
          "No colours and no bars, as with the environment variable NO_COLOR");
  AddFlag(app, "bars", flags, "Print bars even if the output is not a terminal");
}

int TerminalWidth() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

Screen ScreenFor(const Settings& settings) {
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  Screen screen;
  screen.width = terminal ? TerminalWidth() : 0;
  const char* columns = std::getenv("COLUMNS");
  int wanted = 0;
  if (columns != nullptr && absl::SimpleAtoi(columns, &wanted) && wanted > 0) screen.width = wanted;
  screen.colour = terminal && settings.colour;
  screen.bars = screen.colour || settings.bars;
  screen.progress = isatty(STDERR_FILENO) == 1;
  return screen;
}

// Whether the user wants errors as JSON. This function looks at the arguments itself, because they
// could not be parsed.
bool AsksForJson(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "-ojson" || word == "-o=json" || word == "--output=json") return true;
    if ((word == "-o" || word == "--output") && i + 1 < argc) {
      return std::string(argv[i + 1]) == "json";
    }
  }
  const char* variable = std::getenv("BERTH_OUTPUT");
  return variable != nullptr && std::string(variable) == "json";
}

// `audit`: the command was `berth audit`, which has exit codes of its own.
int Report(const absl::Status& status, bool json, bool audit, Session& session) {
  if (status.ok()) return kExitOk;
  Failure failure = FailureOf(status);
  if (audit) failure.exit_code = AuditExitCode(failure);
  session.talk() << (json ? InJson(failure) : InWords(failure));
  return failure.exit_code;
}

// Whether the command is `berth audit` itself, none of its verbs.
bool IsAudit(const CLI::App& app) {
  return app.got_subcommand("audit") && app.get_subcommand("audit")->get_subcommands().empty();
}

// Makes the error for a wrong command line. For an unknown command, it lists those that exist.
absl::Status Misunderstood(const CLI::App& app, const CLI::Error& error) {
  const CLI::App* command = &app;
  std::string path = "berth";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    absl::StrAppend(&path, " ", command->get_name());
  }
  const auto known = command->get_subcommands([](const CLI::App*) { return true; });
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  if (known.empty() || rest.empty() || absl::StartsWith(rest.front(), "-")) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.what()));
  }
  const auto name = [](std::string* out, const CLI::App* one) {
    absl::StrAppend(out, one->get_name());
  };
  return absl::InvalidArgumentError(absl::StrCat("there is no command '", path, " ", rest.front(),
                                                 "'; the commands are ",
                                                 absl::StrJoin(known, ", ", name)));
}

absl::Status Prepare(const Said& flags, Session& session) {
  BERTH_ASSIGN_OR_RETURN(const auto file, SaidByFile(SettingsFile()));
  Said environment = SaidByEnvironment();
  if (!session.server_settings.empty()) {
    BERTH_ASSIGN_OR_RETURN(const auto server, SaidByServer(session.server_settings));
    for (const auto& [name, value] : server) environment[name] = value;
  }
  BERTH_ASSIGN_OR_RETURN(const auto settings, Settle(flags, environment, file));
  session.settings = settings;
  session.screen = ScreenFor(settings);
  return absl::OkStatus();
}

}  // namespace

void AddGrammar(CLI::App& app, Session& session, Said* flags) {
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", absl::StrCat("berth ", services::kVersion));
  app.get_formatter()->column_width(34);
  app.footer(kFooter);
  AddOptions(app, flags);
  AddProviderCommands(app, session);
  AddInventoryCommands(app, session);
  AddTraitCommands(app, session);
  AddClassCommands(app, session);
  AddAggregateCommands(app, session);
  AddCandidateCommand(app, session);
  AddExplainCommands(app, session);
  AddClaimCommands(app, session);
  AddReleaseCommand(app, session);
  AddAllocationCommands(app, session);
  AddLeaseCommands(app, session);
  AddReshapeCommands(app, session);
  AddUsageCommand(app, session);
  AddNodeCommands(app, session);
  AddInstanceCommands(app, session);
  AddGroupCommands(app, session);
  AddMigrationCommands(app, session);
  AddServiceCommands(app, session);
  AddFleetCommands(app, session);
  AddLedgerCommands(app, session);
  AddTransferCommands(app, session);
  AddConsumerCommands(app, session);
  AddWatchCommand(app, session);
  AddHealthCommand(app, session);
  AddAuthCommands(app, session);
  AddCompletionCommand(app, session);
  AddReflectionCommands(app, session);
  CLI::App* version = AddVerb(app, "version", "Print the version", "berth version");
  version->group("Operate");
  Does(version, session, Version);
}

int RunCommandLine(int argc, const char* const* argv, Session& session) {
  CLI::App app("berth: shows which resources hosts have and who holds them, and allocates them",
               "berth");
  Said flags;
  AddGrammar(app, session, &flags);
  const bool json = AsksForJson(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help and --version
    return app.exit(success, session.data(), session.talk());
  } catch (const CLI::Error& error) {
    return Report(Misunderstood(app, error), json, IsAudit(app), session);
  }
  if (!session.chosen()) {
    session.data() << app.help();
    return kExitOk;
  }
  const bool audit = IsAudit(app);
  const absl::Status prepared = Prepare(flags, session);
  if (!prepared.ok()) return Report(prepared, json, audit, session);
  return Report(session.Run(), session.settings.format == Format::kJson, audit, session);
}

}  // namespace berth::cli
