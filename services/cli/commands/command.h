// How a command is added to the grammar: its words, its example, its arguments, what it does.
//
// Each noun has one file; main adds them all. Arguments are plain structs that live as long as the
// grammar.
#ifndef BERTH_SERVICES_CLI_COMMANDS_COMMAND_H_
#define BERTH_SERVICES_CLI_COMMANDS_COMMAND_H_

#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "services/cli/session/session.h"

namespace berth::cli {

// A noun: needs one of its verbs.
CLI::App* AddNoun(CLI::App& app, const std::string& name, const std::string& description);

// A verb, or a command without one. `example` is a line, or several, as one would type them.
CLI::App* AddVerb(CLI::App& parent, const std::string& name, const std::string& description,
                  const std::string& example);

// Of a command that takes none.
struct NoArguments {};

// Lets `command` do `run` with arguments, which the caller binds to options.
template <typename Arguments>
Arguments& Does(CLI::App* command, Session& session,
                absl::Status (*run)(Session&, const Arguments&)) {
  auto arguments = std::make_shared<Arguments>();
  command->callback([&session, run, arguments] {
    session.Choose([&session, run, arguments] { return run(session, *arguments); });
  });
  return *arguments;
}

// A list that may be given by repeating the flag or with commas in one value.
CLI::Option* AddList(CLI::App* command, const std::string& flag, std::vector<std::string>* target,
                     const std::string& description);

// The texts of `values` with commas taken apart.
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
void AddServiceCommands(CLI::App& app, Session& session);
void AddLedgerCommands(CLI::App& app, Session& session);
void AddTransferCommands(CLI::App& app, Session& session);
void AddConsumerCommands(CLI::App& app, Session& session);
void AddWatchCommand(CLI::App& app, Session& session);
void AddHealthCommand(CLI::App& app, Session& session);
void AddReflectionCommands(CLI::App& app, Session& session);
void AddCompletionCommand(CLI::App& app, Session& session);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_COMMANDS_COMMAND_H_
