// Decision: what became of a command.
#ifndef BERTH_PLACEMENT_DECISION_H_
#define BERTH_PLACEMENT_DECISION_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "placement/change.h"
#include "placement/command.h"
#include "placement/rules.h"
#include "placement/types.h"

namespace berth::placement {

struct Decision {
  absl::Status status;  // OK, the command's refusal, or one of Ledger::Submit's own
  Revision revision;    // at which it was decided
  Generation fresh;     // the command's number (RuleContext::fresh); 0 for a refusal
  std::shared_ptr<const Changes> changes;  // what it did, in order; null where status is not OK
  Result result;
  Asked asked;            // of a command with a request id
  absl::Time decided_at;  // by the ledger's clock
  bool replayed = false;  // an answer that was kept under the request id
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_DECISION_H_
