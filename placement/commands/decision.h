// Decision: the ledger's answer to a command.
#ifndef BERTH_PLACEMENT_COMMANDS_DECISION_H_
#define BERTH_PLACEMENT_COMMANDS_DECISION_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/commands/command.h"
#include "placement/commands/outcome.h"
#include "placement/values/change.h"
#include "placement/values/types.h"

namespace berth::placement {

struct Decision {
  absl::Status status;  // OK, the refusal by a rule, or an error of Ledger::Submit
  Revision revision;    // the revision at which the command was decided
  Generation fresh;     // the command's number (RuleContext::fresh); 0 for a refusal
  std::shared_ptr<const Changes> changes;  // in order; null if status is not OK
  Result result;
  Asked asked;            // of a command with a request id
  absl::Time decided_at;  // by the ledger's clock
  bool replayed = false;  // true: the answer was kept under the request id of an earlier command
};

// A decision that has only `status`.
Decision OnlyStatus(absl::Status status);
// The status of a command whose outcome is unknown: kDeadlineExceeded without a reason.
absl::Status OutcomeUnknown();
// The refusal of a command that was not done, for the reason `why`. It contains the delay after
// which the caller should try again.
absl::Status NotDone(absl::string_view why);
// The refusal of a command that was not done because the queue is full, and its actor has too many
// commands in it. It contains the delay, too.
absl::Status QueueFull();

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_DECISION_H_
