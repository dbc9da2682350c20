// The rule about callers that may write for certain projects alone. Pure.
#ifndef BERTH_PLACEMENT_CLAIMS_PROJECT_LIMIT_H_
#define BERTH_PLACEMENT_CLAIMS_PROJECT_LIMIT_H_

#include "absl/status/status.h"
#include "placement/commands/command.h"
#include "placement/state/state.h"
#include "placement/values/project_set.h"

namespace berth::placement {

// OK if a caller that may write for `projects` alone may send the command. Two things must be of
// these projects:
//   1. what the command says: the projects of its consumers and records;
//   2. what stands: the consumer and the instance of each uuid that the command is about, and of a
//      migration the consumers and the instance of the move.
// What does not exist belongs to nobody, so this tells nothing about it.
//
// Fails with PERMISSION_DENIED / POLICY_DENIED, with an item for each fault: consumer, instance or
// migration, and field. First come all faults of what the command says, then those of what stands,
// without the project. A command of a kind that has nothing to do with projects is refused without
// items. Only a request id may be asked for always: the ledger keeps the ids of each caller apart.
absl::Status CheckProjects(const State& state, const ProjectSet& projects, const CommandBody& body);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_PROJECT_LIMIT_H_
