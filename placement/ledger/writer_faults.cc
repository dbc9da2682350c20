// What the writer does when something fails.

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ground/check.h"
#include "placement/ledger/writer.h"
#include "placement/store/rows_load.h"

namespace berth::placement {
namespace {

// A second load of the tables within this time means that loading does not help.
constexpr absl::Duration kReloadsApartMin = absl::Minutes(1);

}  // namespace

// What no batch has begun with waits again; what one has begun with is decided alone.
void Writer::PutBack(const std::vector<PendingPtr>& commands) {
  std::vector<PendingPtr> waiting;
  for (const PendingPtr& pending : commands) {
    switch (pending->phase) {
      case Pending::Phase::kWaiting:
        waiting.push_back(pending);
        break;
      case Pending::Phase::kBegun:
        alone_.push_back(pending);
        break;
      case Pending::Phase::kAnswered:
        break;
    }
  }
  queue_->PutBack(waiting);
}

void Writer::Refuse(const std::vector<PendingPtr>& commands, absl::Status status) {
  std::vector<Answer> answers;
  for (const PendingPtr& pending : commands) {
    std::optional<Answer> answer = pending->Settle(OnlyStatus(status));
    if (answer) answers.push_back(*std::move(answer));
  }
  status = absl::OkStatus();  // from here on only those who are answered hold it
  answerer_->Post(std::move(answers));
}

// Everything that certainly was not done: what waits, and what stands alone after a refusal.
void Writer::RefuseAll(absl::Status status) {
  std::vector<PendingPtr> all = queue_->TakeAll();
  all.insert(all.end(), alone_.begin(), alone_.end());
  alone_.clear();
  if (big_) all.push_back(std::exchange(big_, nullptr));
  Refuse(all, std::move(status));
}

void Writer::GiveUpInDoubt() {
  if (in_doubt_) found_.push_back(std::move(in_doubt_));
  for (const std::unique_ptr<Batch>& batch : found_) Refuse(batch->Commands(), OutcomeUnknown());
  found_.clear();
}

// The lock was not to be had. Nothing was written.
void Writer::LockFailed(const absl::Status& status, const std::vector<PendingPtr>& commands) {
  if (status.code() == absl::StatusCode::kUnavailable) {
    ++health_->reconnects;
    PutBack(commands);
    return Lost();
  }
  if (commands.empty() && !in_doubt_ && found_.empty()) PutOffLeases();
  const bool timed_out = SqlStateOf(status) == "55P03";
  const absl::Status ended = Call("ROLLBACK");
  if (timed_out && ended.ok()) {
    const absl::StatusOr<bool> found = EndIdleLockHolder(*connection_);
    health_->Tell(found.ok() && *found
                      ? "a paused process held the ledger's lock: its session was ended"
                      : "the ledger's lock is held by another process");
    return PutBack(commands);
  }
  health_->Tell(absl::StrCat("the database does not take writes: ", status.message()));
  Refuse(commands, NotDone("the database does not accept writes"));
  health_->reachable = false;
  RefuseAll(NotDone("the database does not accept writes"));
  Disconnect();
  Pause();
}

// PostgreSQL refused what the batch wrote. Nothing took effect.
void Writer::Refused(const absl::Status& status, Batch& batch) {
  if (!Call("ROLLBACK").ok()) Disconnect();
  const std::vector<PendingPtr> commands = batch.Commands();
  const bool for_leases = commands.empty() && found_.empty();
  if (for_leases) PutOffLeases();
  if (status.code() == absl::StatusCode::kAborted) {
    health_->Tell(absl::StrCat("the database does not take writes: ", status.message()));
    Refuse(commands, NotDone("the database does not accept writes"));
    return Pause();
  }
  if (commands.size() == 1) return RefusedAlone(status, commands.front());
  health_->Tell(
      absl::StrCat("a batch of ", commands.size(),
                   " commands was refused and is decided again one by one: ", status.message()));
  // A row without content was refused, and answers wait for it.
  if (commands.empty() && !for_leases) health_->writing_stopped = true;
  alone_.insert(alone_.end(), commands.begin(), commands.end());
}

void Writer::RefusedAlone(const absl::Status& status, const PendingPtr& pending) {
  if (SqlStateOf(status) == kRowsDiffer && reloaded_for_ != pending) {
    const absl::Duration now = publisher_->BootTime();
    health_->Tell(absl::StrCat("memory and tables disagree: ", status.message()));
    if (reloaded_at_ && now - *reloaded_at_ < kReloadsApartMin) {
      health_->Tell("memory and tables disagree again within a minute: writing stops");
      health_->writing_stopped = true;
      return Refuse(
          {pending},
          NotDone("memory and tables of the ledger differ: an operator must look into it"));
    }
    reloaded_at_ = now;
    reloaded_for_ = pending;
    alone_.push_front(pending);
    return Reload();
  }
  health_->Tell(absl::StrCat("a command was refused alone: ", status.message()));
  Refuse({pending}, absl::InternalError("the ledger could not write the command"));
}

void Writer::Reload() {
  if (connection_ == nullptr) return;
  absl::StatusOr<State> state = LoadState(*connection_);
  if (!state.ok()) {
    health_->Tell(absl::StrCat("cannot load the tables: ", state.status().message()));
    if (state.status().code() == absl::StatusCode::kDataLoss) health_->writing_stopped = true;
    health_->reachable = false;
    Disconnect();
    return Pause();
  }
  ++health_->reloads;
  publisher_->Replace(std::make_shared<const State>(*std::move(state)));
}

// The lock is held, so the session that was lost has ended, and the log tells what it did. Neither
// answer is given before this batch has committed: only that proves that what the log shows now is
// durable on every standby that must have it.
bool Writer::SettleInDoubt(Batch& batch, std::vector<PendingPtr>& commands) {
  if (!found_.empty()) batch.ForceRow();
  if (!in_doubt_) return true;
  const Position& position = in_doubt_->next()->position();
  QueryRows rows;
  const absl::Status status = connection_->Run(
      absl::StrCat("SELECT batch_id FROM log WHERE revision = ", position.revision.number), &rows);
  if (!status.ok()) {
    Disconnect();
    return false;
  }
  batch.ForceRow();
  if (rows.size() > 0 && BatchId::Parse(rows.Text(0, 0)) == position.batch) {
    found_.push_back(std::move(in_doubt_));
    return true;
  }
  for (const PendingPtr& pending : in_doubt_->Commands()) {
    if (pending->phase == Pending::Phase::kBegun) commands.push_back(pending);
  }
  in_doubt_.reset();
  return true;
}

}  // namespace berth::placement
