// A function about instances that several commands use.
#ifndef BERTH_SERVICES_CLI_COMMANDS_INSTANCE_H_
#define BERTH_SERVICES_CLI_COMMANDS_INSTANCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "berth/placement/v1/instance.pb.h"
#include "services/cli/session/session.h"

namespace berth::cli {

// The record of the instance with this uuid. Fails like the call GetInstance.
absl::StatusOr<placement::v1::GetInstanceResponse> ReadInstance(Session& session,
                                                                const std::string& uuid);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_COMMANDS_INSTANCE_H_
