// The options that give the fields of an instance's record.
#ifndef BERTH_SERVICES_CLI_COMMANDS_INSTANCE_OPTIONS_H_
#define BERTH_SERVICES_CLI_COMMANDS_INSTANCE_OPTIONS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "berth/placement/v1/record.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/session.h"

namespace berth::cli {

struct InstanceOptions {
  std::string file;                          // of AddInstanceFile; empty: none given
  std::map<std::string, std::string> given;  // the values of the given options, by flag
};

// Adds the options to `command`. Their values are stored in `options`, which must live as long as
// `command`. `group` is the title of the options in the help; empty: they are among the others.
void AddInstanceOptions(CLI::App* command, InstanceOptions* options, const std::string& group = "");
// Adds --file, for a command that takes the whole record from a file.
void AddInstanceFile(CLI::App* command, InstanceOptions* options);

// Fills `instance` from the file, if one is given: the JSON of an Instance, or of an answer that
// holds one, as `berth instance show -o json` prints it. kNotFound if the file cannot be read,
// kInvalidArgument if it holds something else.
absl::Status ReadInstanceFile(const InstanceOptions& options, placement::v1::Instance* instance);

// Sets the fields of `instance` for which an option is given. kInvalidArgument for a wrong number;
// otherwise fails like the look-up of the node.
absl::Status ChangeInstance(Session& session, const InstanceOptions& options,
                            placement::v1::Instance* instance);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_COMMANDS_INSTANCE_OPTIONS_H_
