#include "placement/publish/follower.h"

#include "absl/strings/str_cat.h"
#include "placement/publish/catch_up.h"
#include "placement/store/database.h"
#include "placement/store/rows.h"
#include "placement/store/rows_load.h"

namespace berth::placement {
namespace {

constexpr int kCaughtUpAtOnce = 256;
// At least this time passes between two readings of the oldest revision of the log.
constexpr absl::Duration kHorizonAge = absl::Seconds(5);

}  // namespace

absl::StatusOr<std::shared_ptr<Database>> Follower::Open() {
  {
    const MutexLock lock(&mutex_);
    if (database_ && !database_->broken()) return database_;
    database_.reset();
  }
  BERTH_ASSIGN_OR_RETURN(auto opened, ConnectToPrimary(database_url_, "berth-placement follower"));
  const MutexLock lock(&mutex_);
  database_ = std::move(opened);
  return database_;
}

void Follower::Watch(absl::Duration limit) {
  const MutexLock lock(&mutex_);
  if (database_) database_->ShutIfSlow(limit);
}

absl::StatusOr<int> Follower::Follow() {
  const MutexLock following(&following_);
  BERTH_ASSIGN_OR_RETURN(const std::shared_ptr<Database> database, Open());
  const absl::Duration began = publisher_->boot_now();
  BERTH_ASSIGN_OR_RETURN(const CatchUpStep step, CatchUp(*database, *publisher_, kCaughtUpAtOnce));
  health_->followed_rows += step.applied;
  BERTH_RETURN_IF_ERROR(LookAtOldest(*database, began));
  switch (step.end) {
    case CaughtUp::kAll:
      publisher_->SetFresh(began);
      // The published state agrees with the database, so Agree may end the alarm. A thread that has
      // just set the alarm looked at an older state, which an operator has since replaced. If the
      // database goes back in time once more, the writer notices it under the lock.
      health_->Agree(publisher_->Newest()->position().revision);
      break;
    case CaughtUp::kSome:
    case CaughtUp::kCommitting:
      break;
    case CaughtUp::kReload: {
      BERTH_RETURN_IF_ERROR(Reload(*database));
      publisher_->SetFresh(began);
      break;
    }
    case CaughtUp::kWentBack:
      // Reads are still answered from the last good state, so that state counts as fresh.
      publisher_->SetFresh(began);
      health_->SetDatabaseRevision(step.head);
      health_->RequireRecovery(
          "the database went back in time, for example because it was restored");
      break;
    case CaughtUp::kTooNew:
      health_->format_too_new = true;
      return absl::FailedPreconditionError(
          "a newer release has changed the format of the ledger: upgrade this process");
  }
  return step.applied;
}

absl::Status Follower::LookAtOldest(Database& database, absl::Duration now) {
  if (horizon_read_at_ && now - *horizon_read_at_ <= kHorizonAge) return absl::OkStatus();
  const absl::StatusOr<Revision> oldest = ReadHorizon(database);
  // Reads and writes do not need old rows. So a gap among the old rows stops only those watchers
  // that need these rows.
  const bool gap = absl::IsDataLoss(oldest.status());
  if (!oldest.ok() && !gap) return oldest.status();
  horizon_read_at_ = now;
  if (gap) {
    health_->Tell(std::string(oldest.status().message()));
  } else {
    health_->SetOldestWatchable(*oldest);
  }
  return absl::OkStatus();
}

absl::Status Follower::Reload(Database& database) {
  BERTH_ASSIGN_OR_RETURN(State state, LoadState(database));
  ++health_->reloads;
  publisher_->Replace(std::make_shared<const State>(std::move(state)));
  // The published state agrees with the database again. If recovery was required, an operator has
  // begun a new epoch in another process.
  health_->Agree(publisher_->Newest()->position().revision);
  return absl::OkStatus();
}

}  // namespace berth::placement
