// Makes shell completion scripts from the grammar. Pure.
#ifndef BERTH_SERVICES_CLI_COMMANDS_COMPLETION_H_
#define BERTH_SERVICES_CLI_COMMANDS_COMPLETION_H_

#include <string>

#include "CLI/CLI.hpp"

namespace berth::cli {

// The script with which a shell completes the commands and options of `app`.
std::string BashCompletion(const CLI::App& app);
std::string ZshCompletion(const CLI::App& app);
std::string FishCompletion(const CLI::App& app);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_COMMANDS_COMPLETION_H_
