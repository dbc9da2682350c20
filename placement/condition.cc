#include "placement/condition.h"

#include "placement/command_queue.h"
#include "placement/refusal.h"

namespace berth::placement {

absl::Status Condition::WhyNoWrites() const {
  if (recovery_required) {
    return Refuse(absl::StatusCode::kFailedPrecondition, "RECOVERY_REQUIRED",
                  "the database went back in time: an operator must begin a new epoch");
  }
  if (format_too_new) return NotDone("the ledger is of a newer release's format");
  if (writing_stopped) return NotDone("memory and tables disagree: an operator must look");
  return absl::OkStatus();
}

void Condition::RequireRecovery(const std::string& words) {
  if (!recovery_required.exchange(true)) Tell(words);
}

}  // namespace berth::placement
