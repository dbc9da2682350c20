// A function about nodes that several commands use.
#ifndef BERTH_SERVICES_CLI_COMMANDS_NODE_H_
#define BERTH_SERVICES_CLI_COMMANDS_NODE_H_

#include <string>

#include "absl/status/statusor.h"
#include "services/cli/session/session.h"

namespace berth::cli {

// Returns the uuid of the only node with the name `text`, or `text` itself if it is a uuid.
// kInvalidArgument if several nodes have the name, kNotFound / NODE_NOT_FOUND if none has it.
// Otherwise fails like the call that lists nodes.
absl::StatusOr<std::string> NodeUuid(Session& session, const std::string& text);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_COMMANDS_NODE_H_
