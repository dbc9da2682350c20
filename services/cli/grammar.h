// Grammar: the whole command line: what it accepts, and how a run of it goes.
#ifndef BERTH_SERVICES_CLI_GRAMMAR_H_
#define BERTH_SERVICES_CLI_GRAMMAR_H_

#include "CLI/CLI.hpp"
#include "services/cli/session/session.h"
#include "services/cli/session/settings.h"

namespace berth::cli {

// Adds the options that hold for every command, and every command. What the options say goes to
// `flags`, what the command does to `session`, when the arguments are parsed.
void AddGrammar(CLI::App& app, Session& session, Said* flags);

// Reads the arguments and does what they say. The exit code; what went wrong was said.
int RunCommandLine(int argc, const char* const* argv, Session& session);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_GRAMMAR_H_
