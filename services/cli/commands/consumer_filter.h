// Which consumers a command is about, from the options that such commands share.
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

  // No option is given: every consumer passes.
  bool empty() const;
};

// Adds the options to `command`; what they say goes to `filter`, which must live as long.
void AddConsumerFilter(CLI::App* command, ConsumerFilter* filter);

// The list that has them. kInvalidArgument for a time that does not read; kNotFound for an unknown
// --tree; errors of the call that looks that up.
absl::StatusOr<placement::v1::ListConsumersRequest> ListOf(Session& session,
                                                           const ConsumerFilter& filter);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_COMMANDS_CONSUMER_FILTER_H_
