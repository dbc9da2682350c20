// Grammar: all commands and options of the command line, and how a run of it works.
#ifndef BERTH_SERVICES_CLI_GRAMMAR_H_
#define BERTH_SERVICES_CLI_GRAMMAR_H_

#include "CLI/CLI.hpp"
#include "services/cli/session/session.h"
#include "services/cli/session/settings.h"

namespace berth::cli {

// Adds all commands, and the options of every command. When the arguments are parsed, the options
// are stored in `flags` and the chosen command in `session`.
void AddGrammar(CLI::App& app, Session& session, Said* flags);

// Parses the arguments and runs the command. Returns the exit code; errors have been printed.
int RunCommandLine(int argc, const char* const* argv, Session& session);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_GRAMMAR_H_
