#include "placement/ledger/health.h"

#include "placement/commands/decision.h"
#include "placement/values/refusal.h"

namespace berth::placement {

absl::Status Condition::WhyNoWrites() const {
  if (recovery_required) {
    return Refuse(absl::StatusCode::kFailedPrecondition, "RECOVERY_REQUIRED",
                  "the database lost committed changes: an operator must begin a new epoch");
  }
  if (format_too_new) return NotDone("the log has a format of a newer release: run that release");
  if (writing_stopped) {
    return NotDone("memory and tables of the ledger differ: an operator must look into it");
  }
  return absl::OkStatus();
}

void Condition::RequireRecovery(const std::string& words) {
  if (!recovery_required.exchange(true)) Tell(words);
}

void Condition::SetDatabaseRevision(Revision revision) {
  const MutexLock lock(&mutex_);
  database_revision_ = revision;
}

Revision Condition::database_revision() const {
  const MutexLock lock(&mutex_);
  return database_revision_;
}

void Condition::SetOldestWatchable(Revision revision) {
  const MutexLock lock(&mutex_);
  oldest_watchable_ = revision;
}

std::optional<Revision> Condition::oldest_watchable() const {
  const MutexLock lock(&mutex_);
  return oldest_watchable_;
}

void Condition::Add(const BatchTally& tally) {
  refusals += tally.refusals;
  claims_done += tally.claims_done;
  claims_without_room += tally.claims_without_room;
  claims_refused += tally.claims_refused;
  provider_conflicts += tally.provider_conflicts;
  consumer_conflicts += tally.consumer_conflicts;
}

}  // namespace berth::placement
