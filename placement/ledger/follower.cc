#include "placement/ledger/follower.h"

#include "absl/strings/str_cat.h"
#include "placement/ledger/catch_up.h"
#include "placement/store/database.h"
#include "placement/store/rows.h"
#include "placement/store/rows_load.h"

namespace berth::placement {
namespace {

constexpr int kRowsAtOnce = 256;
// How long the end of the log is taken to be where it was seen.
constexpr absl::Duration kHorizonAge = absl::Seconds(5);

}  // namespace

absl::StatusOr<std::shared_ptr<Database>> Follower::Open() {
  {
    const MutexLock lock(&mutex_);
    if (database_ && !database_->broken()) return database_;
    database_.reset();
  }
  auto opened = ConnectToPrimary(database_url_, "berth-placement follower");
  if (!opened.ok()) return opened.status();
  const MutexLock lock(&mutex_);
  database_ = *std::move(opened);
  return database_;
}

void Follower::Watch(absl::Duration limit) {
  const MutexLock lock(&mutex_);
  if (database_) database_->ShutIfSlow(limit);
}

absl::StatusOr<int> Follower::Follow() {
  const MutexLock following(&following_);
  const absl::StatusOr<std::shared_ptr<Database>> database = Open();
  if (!database.ok()) return database.status();
  const absl::Duration began = publisher_->BootTime();
  const absl::StatusOr<CatchUpStep> step = CatchUp(**database, *publisher_, kRowsAtOnce);
  if (!step.ok()) return step.status();
  condition_->followed_rows += step->applied;
  if (!horizon_read_at_ || began - *horizon_read_at_ > kHorizonAge) {
    const absl::StatusOr<Revision> oldest = ReadHorizon(**database);
    horizon_read_at_ = began;
    if (oldest.ok()) {
      condition_->SetOldestWatchable(*oldest);
    } else if (absl::IsDataLoss(oldest.status())) {
      // Reads and writes need no old rows: only watchers that come from far back do.
      condition_->Tell(std::string(oldest.status().message()));
    } else {
      return oldest.status();
    }
  }
  switch (step->end) {
    case CaughtUp::kAll:
      publisher_->SetFresh(began);
      // The state agrees with the database. Who found otherwise looked at a state that an operator
      // has replaced meanwhile; where it is true again, the next look under the lock tells.
      condition_->recovery_required = false;
      break;
    case CaughtUp::kSome:
    case CaughtUp::kCommitting:
      break;
    case CaughtUp::kReload: {
      const absl::Status reloaded = Reload(**database);
      if (!reloaded.ok()) return reloaded;
      publisher_->SetFresh(began);
      break;
    }
    case CaughtUp::kWentBack:
      // The last good state is served on, and it is what this database has to say.
      publisher_->SetFresh(began);
      condition_->SetDatabaseRevision(step->head);
      condition_->RequireRecovery("the database went back in time: the follower found it");
      break;
    case CaughtUp::kTooNew:
      condition_->format_too_new = true;
      return absl::FailedPreconditionError("the log is of a newer release's format");
  }
  return step->applied;
}

absl::Status Follower::Reload(Database& database) {
  absl::StatusOr<State> state = LoadState(database);
  if (!state.ok()) return state.status();
  ++condition_->reloads;
  publisher_->Replace(std::make_shared<const State>(*std::move(state)));
  // Where this process waited for a new epoch, an operator has begun it at another one.
  condition_->recovery_required = false;
  return absl::OkStatus();
}

}  // namespace berth::placement
