// Adds a command to the grammar: its name, description, example, arguments, and the function that
// runs it.
//
// Each noun has one file. Arguments are plain structs that live as long as the grammar.
#ifndef BERTH_SERVICES_CLI_COMMANDS_COMMAND_H_
#define BERTH_SERVICES_CLI_COMMANDS_COMMAND_H_

#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "services/cli/session/session.h"

namespace berth::cli {

// Adds a noun to a group of the program's help. One of its verbs must follow on the command line.
CLI::App* AddNoun(CLI::App& app, const std::string& name, const std::string& description,
                  const std::string& group);

// Adds a verb to a noun, or a command without verbs to a group of the program's help. `example` has
// one or more lines, as a user would type them.
CLI::App* AddVerb(CLI::App& parent, const std::string& name, const std::string& description,
                  const std::string& example, const std::string& group = "");

// The arguments of a command that takes none.
struct NoArguments {};

// Makes `command` call `run` with arguments of this type, unless one of its verbs follows. Returns these arguments, so that the
// caller can bind options to them.
template <typename Arguments>
Arguments& Does(CLI::App* command, Session& session,
                absl::Status (*run)(Session&, const Arguments&)) {
  auto arguments = std::make_shared<Arguments>();
  command->callback([command, &session, run, arguments] {
    if (!command->get_subcommands().empty()) return;
    session.Choose([&session, run, arguments] { return run(session, *arguments); });
  });
  return *arguments;
}

// Adds a list option: it may be repeated, and one value may hold several entries separated by
// commas.
CLI::Option* AddList(CLI::App* command, const std::string& flag, std::vector<std::string>* target,
                     const std::string& description);

// Adds the argument for the name or uuid of the provider that a command is about.
void AddProviderName(CLI::App* command, std::string* target);

// Adds --limit, which limits the length of a list. `*target` holds the default.
void AddLimit(CLI::App* command, int* target, const std::string& description);

// Adds an option for a text that must not be blank.
CLI::Option* AddText(CLI::App* command, const std::string& flag, std::string* target,
                     const std::string& description);

// The description of the option --reason. `when` says when the reason is required; empty: never.
std::string ReasonHelp(const std::string& when = "");

// The refusal of a command whose option `flag` is wrong or missing. kInvalidArgument.
absl::Status WrongOption(const std::string& flag, absl::string_view message);

// The entries of `values`, split at commas.
std::vector<std::string> Listed(const std::vector<std::string>& values);

void AddProviderCommands(CLI::App& app, Session& session);
void AddInventoryCommands(CLI::App& app, Session& session);
void AddTraitCommands(CLI::App& app, Session& session);
void AddAggregateCommands(CLI::App& app, Session& session);
void AddClassCommands(CLI::App& app, Session& session);
void AddUsageCommand(CLI::App& app, Session& session);
void AddAllocationCommands(CLI::App& app, Session& session);
void AddCandidateCommand(CLI::App& app, Session& session);
void AddExplainCommands(CLI::App& app, Session& session);
void AddClaimCommands(CLI::App& app, Session& session);
void AddReleaseCommand(CLI::App& app, Session& session);
void AddLeaseCommands(CLI::App& app, Session& session);
void AddReshapeCommands(CLI::App& app, Session& session);
void AddNodeCommands(CLI::App& app, Session& session);
void AddInstanceCommands(CLI::App& app, Session& session);
void AddGroupCommands(CLI::App& app, Session& session);
void AddMigrationCommands(CLI::App& app, Session& session);
void AddServiceCommands(CLI::App& app, Session& session);
// Adds `follow` and `show` to `audit`.
void AddAuditLogVerbs(CLI::App* audit, Session& session);
// Adds the noun `host`, `audit`, and some verbs of the noun `node`, which must have been added.
void AddFleetCommands(CLI::App& app, Session& session);
void AddLedgerCommands(CLI::App& app, Session& session);
void AddTransferCommands(CLI::App& app, Session& session);
void AddConsumerCommands(CLI::App& app, Session& session);
void AddWatchCommand(CLI::App& app, Session& session);
void AddHealthCommand(CLI::App& app, Session& session);
void AddAuthCommands(CLI::App& app, Session& session);
void AddReflectionCommands(CLI::App& app, Session& session);
void AddCompletionCommand(CLI::App& app, Session& session);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_COMMANDS_COMMAND_H_
