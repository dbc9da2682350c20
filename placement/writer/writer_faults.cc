// The parts of the writer that handle failures.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ground/check.h"
#include "placement/store/rows_load.h"
#include "placement/writer/writer.h"

namespace berth::placement {
namespace {

absl::Status Unwritable() {
  return NotDone("the database does not accept writes: nothing was done, try again");
}

// If memory and tables disagree again within this time after the tables were loaded, then reloading
// does not help.
constexpr absl::Duration kReloadsApartMin = absl::Minutes(1);
constexpr absl::Duration kPauseMax = absl::Seconds(1);

}  // namespace

void Writer::Pause() {
  queue_->Rest(pause_);
  pause_ = std::min(2 * pause_, kPauseMax);
}

void Writer::BatchSucceeded() {
  pause_ = kPauseMin;
  disconnects_ = 0;
}

void Writer::ConnectionLost() {
  Disconnect();
  if (++disconnects_ > 1) Pause();
}

void Writer::PutBack(const std::vector<PendingPtr>& commands) {
  std::vector<PendingPtr> waiting;
  for (const PendingPtr& pending : commands) {
    switch (pending->phase) {
      case Pending::Phase::kWaiting:
        waiting.push_back(pending);
        break;
      case Pending::Phase::kBegun:
        turns_.AddAlone(pending);
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
  // Drops this thread's reference to the status, so that only the answers refer to it.
  status = absl::OkStatus();
  answerer_->Post(std::move(answers));
}

// Refuses every command that certainly was not done: the commands in the queue, and the commands
// that wait for a batch of their own.
void Writer::RefuseAll(absl::Status status) {
  std::vector<PendingPtr> all = queue_->TakeAll();
  const std::vector<PendingPtr> own = turns_.GiveUpWaiting();
  all.insert(all.end(), own.begin(), own.end());
  Refuse(all, std::move(status));
}

void Writer::GiveUpUnsettled() { Refuse(turns_.GiveUpUnsettled(), OutcomeUnknown()); }

// Handles a failure to get the lock or to read the newest log row. Nothing was written.
void Writer::LockFailed(const absl::Status& status, const std::vector<PendingPtr>& commands) {
  if (status.code() == absl::StatusCode::kUnavailable) {
    ++health_->reconnects;
    PutBack(commands);
    return ConnectionLost();
  }
  if (commands.empty() && turns_.turn() == Turn::kShared) PutOffLeases();
  const bool timed_out = SqlStateOf(status) == kLockTimeout;
  const absl::Status ended = Call("ROLLBACK");
  if (timed_out && ended.ok()) {
    EndIdleHolder();
    return PutBack(commands);
  }
  health_->Tell(absl::StrCat("the database does not take writes: ", status.message()));
  Refuse(commands, Unwritable());
  health_->reachable = false;
  RefuseAll(Unwritable());
  Disconnect();
  Pause();
}

void Writer::EndIdleHolder() {
  const absl::StatusOr<bool> found = EndIdleLockHolder(*connection_);
  health_->Tell(found.ok() && *found ? "another process was paused while it held the ledger's "
                                       "lock: its database session was ended"
                                     : "the ledger's lock is held by another process");
}

void Writer::Lost(std::unique_ptr<Batch> batch, const absl::Status& status) {
  health_->in_doubt += batch->command_count();
  health_->Tell(absl::StrCat("it is not known whether the last batch of writes was committed: ",
                             status.message()));
  turns_.Lost(std::move(batch));
  ConnectionLost();
}

// Handles the refusal by PostgreSQL of the statement that writes the batch. Nothing took effect.
void Writer::Refused(const absl::Status& status, Batch& batch) {
  if (!Call("ROLLBACK").ok()) Disconnect();
  const std::vector<PendingPtr> commands = batch.Commands();
  const bool for_leases = commands.empty() && turns_.turn() == Turn::kShared;
  if (for_leases) PutOffLeases();
  if (status.code() == absl::StatusCode::kAborted) {
    health_->Tell(absl::StrCat("the database does not take writes: ", status.message()));
    Refuse(commands, Unwritable());
    return Pause();
  }
  if (commands.size() == 1) return RefusedAlone(status, commands.front());
  health_->Tell(
      absl::StrCat("a batch of ", commands.size(),
                   " writes was refused, so each of them is tried in a transaction of its own: ",
                   status.message()));
  // The batch has only a log row, which should prove that earlier batches are durable, and
  // PostgreSQL refuses it. Without this alarm the writer would try again for ever.
  if (commands.empty() && !for_leases) health_->writing_stopped = true;
  for (const PendingPtr& pending : commands) turns_.AddAlone(pending);
}

void Writer::RefusedAlone(const absl::Status& status, const PendingPtr& pending) {
  if (SqlStateOf(status) == kRowsDiffer && reloaded_for_ != pending) {
    const absl::Duration now = publisher_->boot_now();
    health_->Tell(absl::StrCat(
        "the tables differ from what this process has in memory, so they are loaded again: ",
        status.message()));
    if (reloaded_at_ && now - *reloaded_at_ < kReloadsApartMin) {
      health_->Tell(
          "the tables differ from memory a second time within a minute: this process refuses "
          "writes until it is restarted");
      health_->writing_stopped = true;
      return Refuse({pending}, health_->WhyNoWrites());
    }
    reloaded_at_ = now;
    reloaded_for_ = pending;
    turns_.AddAlone(pending);
    return Reload();
  }
  health_->Tell(
      absl::StrCat("the database refused a write that was tried in a transaction of its own: ",
                   status.message()));
  Refuse({pending},
         absl::InternalError("the database refused the write: the log of placement says why"));
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

// Looks in the log for the batch in doubt. Returns false if the log could not be read. The result
// counts only after the commit of `batch`, which always writes a row:
//   - If the log has the row of the batch in doubt, only this commit proves that the row is on
//     every standby that must have it.
//   - If the log does not have the row, the message of the batch in doubt may still be on the way
//     or wait for the lock. Only this commit makes sure that the message writes nothing any more.
bool Writer::Settle(Batch& batch) {
  batch.ForceRow();
  const Batch* const in_doubt = turns_.in_doubt();
  if (in_doubt == nullptr) return true;
  const Position& position = in_doubt->next()->position();
  QueryRows rows;
  const absl::Status status = connection_->Run(
      absl::StrCat("SELECT batch_id FROM log WHERE revision = ", position.revision.number), &rows);
  if (!status.ok()) {
    Disconnect();
    return false;
  }
  if (rows.size() > 0 && BatchId::Parse(rows.Text(0, 0)) == position.batch) {
    turns_.Found();
    return true;
  }
  // If the log has reached the revision of the batch in doubt but has no row for it, that row was
  // deleted because of its age, and nobody can tell any more which batch it was of.
  const bool passed = batch.base()->position().revision.number >= position.revision.number;
  if (rows.size() == 0 && passed) ForgetOutcomes(*in_doubt);
  turns_.Missing();
  return true;
}

// Handles a batch if the log no longer shows whether the batch was committed. A command with a
// request id is decided again, because the table of request ids shows whether the command was done.
// The outcome of the other commands stays unknown.
void Writer::ForgetOutcomes(const Batch& batch) {
  std::vector<PendingPtr> unknown;
  for (const PendingPtr& pending : batch.Commands()) {
    if (!KeyOf(pending->command)) unknown.push_back(pending);
  }
  health_->Tell(absl::StrCat("the log row of a batch in doubt was deleted: the outcome of ",
                             unknown.size(), " commands without a request id stays unknown"));
  Refuse(unknown, OutcomeUnknown());
}

}  // namespace berth::placement
