// A function about inventories that several commands use.
#ifndef BERTH_SERVICES_CLI_COMMANDS_INVENTORY_H_
#define BERTH_SERVICES_CLI_COMMANDS_INVENTORY_H_

#include <string>

#include "absl/status/statusor.h"
#include "berth/placement/v1/inventory.pb.h"
#include "services/cli/session/session.h"

namespace berth::cli {

// The inventories of the provider with this uuid. Fails like the call GetInventories.
absl::StatusOr<placement::v1::GetInventoriesResponse> InventoriesOf(Session& session,
                                                                    const std::string& uuid);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_COMMANDS_INVENTORY_H_
