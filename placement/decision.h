// Decision: what became of a command.
#ifndef BERTH_PLACEMENT_DECISION_H_
#define BERTH_PLACEMENT_DECISION_H_

#include <memory>

#include "absl/status/status.h"
#include "placement/change.h"
#include "placement/rules.h"
#include "placement/types.h"

namespace berth::placement {

struct Decision {
  absl::Status status;  // OK, the command's refusal, or one of Ledger::Submit's own
  Revision revision;    // at which it was decided
  Generation fresh;     // the command's number (RuleContext::fresh); 0 for a refusal
  std::shared_ptr<const Changes> changes;  // what it did, in order; null where status is not OK
  Result result;
  bool replayed = false;  // an answer that was kept under the request id
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_DECISION_H_
