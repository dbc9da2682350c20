#include "placement/publish/health.h"

#include "placement/commands/decision.h"
#include "placement/values/refusal.h"

namespace berth::placement {

absl::Status Health::WhyNoWrites() const {
  if (recovery_required) {
    return Refuse(absl::StatusCode::kFailedPrecondition, "RECOVERY_REQUIRED",
                  "the database has lost committed changes: placement refuses writes until an "
                  "operator begins a new epoch");
  }
  if (format_too_new)
    return NotDone("a newer release has changed the format of the ledger: upgrade this process");
  if (writing_stopped) {
    return NotDone(
        "the tables differ from what placement has in memory, so it refuses writes: an operator "
        "must read the log of placement and restart it");
  }
  return absl::OkStatus();
}

void Health::RequireRecovery(const std::string& words) {
  if (!recovery_required.exchange(true)) Tell(words);
}

void Health::SetLost(const Position& lost) {
  const MutexLock lock(&mutex_);
  lost_ = lost;
}

std::optional<Position> Health::lost() const {
  const MutexLock lock(&mutex_);
  return lost_;
}

void Health::Agree(Revision newest) {
  const MutexLock lock(&mutex_);
  if (lost_ && newest.epoch <= lost_->revision.epoch) return;
  lost_.reset();
  recovery_required = false;
}

void Health::SetDatabaseRevision(Revision revision) {
  const MutexLock lock(&mutex_);
  database_revision_ = revision;
}

Revision Health::database_revision() const {
  const MutexLock lock(&mutex_);
  return database_revision_;
}

void Health::SetOldestWatchable(Revision revision) {
  const MutexLock lock(&mutex_);
  oldest_watchable_ = revision;
}

std::optional<Revision> Health::oldest_watchable() const {
  const MutexLock lock(&mutex_);
  return oldest_watchable_;
}

LedgerHealth Health::Snapshot() const {
  LedgerHealth snapshot;
  snapshot.recovery_required = recovery_required;
  snapshot.format_too_new = format_too_new;
  snapshot.writing_stopped = writing_stopped;
  snapshot.writable = WhyNoWrites().ok();
  if (snapshot.recovery_required) snapshot.database_revision = database_revision();
  snapshot.oldest_watchable = oldest_watchable();
  snapshot.batches = batches;
  snapshot.commands = commands;
  snapshot.refusals = refusals;
  snapshot.refused_by_turn = refused_by_turn;
  snapshot.in_doubt = in_doubt;
  snapshot.reconnects = reconnects;
  snapshot.claims_done = claims_done;
  snapshot.claims_without_room = claims_without_room;
  snapshot.claims_refused = claims_refused;
  snapshot.provider_conflicts = provider_conflicts;
  snapshot.consumer_conflicts = consumer_conflicts;
  snapshot.followed_rows = followed_rows;
  snapshot.reloads = reloads;
  snapshot.short_batches = short_batches;
  snapshot.moved_batches = moved_batches;
  snapshot.dropped_batches = dropped_batches;
  snapshot.ahead_batches = ahead_batches;
  return snapshot;
}

void Health::Add(const BatchTally& tally) {
  refusals += tally.refusals;
  claims_done += tally.claims_done;
  claims_without_room += tally.claims_without_room;
  claims_refused += tally.claims_refused;
  provider_conflicts += tally.provider_conflicts;
  consumer_conflicts += tally.consumer_conflicts;
}

}  // namespace berth::placement
