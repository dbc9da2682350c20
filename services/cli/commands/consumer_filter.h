// The filter options that several commands on consumers have in common.
#ifndef BERTH_SERVICES_CLI_COMMANDS_CONSUMER_FILTER_H_
#define BERTH_SERVICES_CLI_COMMANDS_CONSUMER_FILTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "berth/placement/v1/consumer.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/session.h"

namespace berth::cli {

struct ConsumerFilter {
  std::string project, user, type, tree, idle;
  bool leased = false, unleased = false;

  // True if no option is given, so that every consumer passes.
  bool empty() const;
};

// Adds the options to `command`. Their values are stored in `filter`, which must live as long as
// `command`.
void AddConsumerFilter(CLI::App* command, ConsumerFilter* filter);

// Returns the list request with these filters. kInvalidArgument for an invalid duration, kNotFound
// if --tree names no provider. Otherwise fails like the call that looks up the tree.
absl::StatusOr<placement::v1::ListConsumersRequest> ListOf(Session& session,
                                                           const ConsumerFilter& filter);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_COMMANDS_CONSUMER_FILTER_H_
