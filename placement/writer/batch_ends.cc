#include "placement/writer/batch_ends.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "placement/store/rows_load.h"

namespace berth::placement {
namespace {

// If no command waits, the writer gives so many answers itself.
constexpr int kAnswersHere = 2;
// If memory and tables disagree again within this time after the tables were loaded, then reloading
// does not help.
constexpr absl::Duration kReloadsApartMin = absl::Minutes(1);

absl::Status Unwritable() {
  return NotDone("the database does not accept writes: nothing was done, try again");
}

// Whether the callback of a command returns at once. The callback of a report collects the changes
// that the tracker must hear of, and that of an import frees the whole import.
bool IsAnsweredAtOnce(const CommandBody& body) {
  return !std::holds_alternative<ApplyReport>(body) && !std::holds_alternative<ImportLedger>(body);
}

}  // namespace

void BatchEnds::Publish(Batch& batch, absl::Duration began) {
  parts_.connection.Succeeded();
  committed_ = batch.id();
  parts_.options.Step(LedgerStep::kCommitted);
  parts_.publisher.Publish(*batch.base(), batch.next(), batch.log());
  parts_.publisher.EndCommit(batch.id());
  parts_.publisher.SetFresh(began);
  ++parts_.health.batches;
}

void BatchEnds::AnswerCommitted(Batch& batch) {
  for (const std::unique_ptr<Batch>& proven : parts_.turns.TakeProven()) AnswerAll(*proven);
  AnswerAll(batch);
  if (batch.writes()) parts_.publisher.WakeFollowers();
  parts_.options.Step(LedgerStep::kPublished);
}

void BatchEnds::AnswerAll(Batch& batch) {
  parts_.health.commands += batch.command_count();
  parts_.health.Add(batch.tally());
  std::vector<Answer> answers = batch.TakeAnswers();
  bool here = batch.command_count() <= kAnswersHere && parts_.queue.size() == 0;
  for (const PendingPtr& pending : here ? batch.Commands() : std::vector<PendingPtr>()) {
    here = here && IsAnsweredAtOnce(pending->command.body);
  }
  if (here) {
    parts_.answerer.Give(std::move(answers));
  } else {
    parts_.answerer.Post(std::move(answers));
  }
}

void BatchEnds::NotWritten(const absl::Status& status, Batch& batch) {
  parts_.roads.NotWritten();
  parts_.intake.TakeBack(batch);
  if (status.ok()) {
    ++parts_.health.moved_batches;
    return;
  }
  if (status.code() == absl::StatusCode::kUnavailable) {
    ++parts_.health.reconnects;
    return parts_.connection.Lost();
  }
  if (batch.command_count() == 0) {
    // The row that records the ledger time was refused. Nobody waits for this row.
    parts_.leases.PutOff();
    parts_.health.Tell(absl::StrCat("the database does not take writes: ", status.message()));
  } else if (status.code() == absl::StatusCode::kInternal) {
    parts_.health.Tell(
        absl::StrCat("a batch of writes was refused in one round trip, so it is tried in two: ",
                     status.message()));
  }
  if (SqlStateOf(status) == kLockTimeout) parts_.connection.EndIdleHolder();
}

void BatchEnds::Refused(const absl::Status& status, Batch& batch) {
  parts_.connection.Rollback();
  const std::vector<PendingPtr> commands = batch.Commands();
  const bool for_leases = commands.empty() && parts_.turns.turn() == Turn::kShared;
  if (for_leases) parts_.leases.PutOff();
  if (status.code() == absl::StatusCode::kAborted) {
    parts_.health.Tell(absl::StrCat("the database does not take writes: ", status.message()));
    parts_.intake.Refuse(commands, Unwritable());
    return parts_.connection.Pause();
  }
  if (commands.size() == 1) return RefusedAlone(status, commands.front());
  parts_.health.Tell(
      absl::StrCat("a batch of ", commands.size(),
                   " writes was refused, so each of them is tried in a transaction of its own: ",
                   status.message()));
  // The batch has only a log row, which should prove that earlier batches are durable, and
  // PostgreSQL refuses it. Without this alarm the writer would try again for ever.
  if (commands.empty() && !for_leases) parts_.health.writing_stopped = true;
  for (const PendingPtr& pending : commands) parts_.turns.AddAlone(pending);
}

void BatchEnds::RefusedAlone(const absl::Status& status, const PendingPtr& pending) {
  if (SqlStateOf(status) == kRowsDiffer && reloaded_for_ != pending) {
    const absl::Duration now = parts_.options.boot_clock();
    parts_.health.Tell(absl::StrCat(
        "the tables differ from what this process has in memory, so they are loaded again: ",
        status.message()));
    if (reloaded_at_ && now - *reloaded_at_ < kReloadsApartMin) {
      parts_.health.Tell(
          "the tables differ from memory a second time within a minute: this process refuses "
          "writes until it is restarted");
      parts_.health.writing_stopped = true;
      return parts_.intake.Refuse({pending}, parts_.health.WhyNoWrites());
    }
    reloaded_at_ = now;
    reloaded_for_ = pending;
    parts_.turns.AddAlone(pending);
    return Reload();
  }
  parts_.health.Tell(
      absl::StrCat("the database refused a write that was tried in a transaction of its own: ",
                   status.message()));
  parts_.intake.Refuse(
      {pending},
      absl::InternalError("the database refused the write: the log of placement says why"));
}

void BatchEnds::LockFailed(const absl::Status& status, const std::vector<PendingPtr>& commands) {
  if (status.code() == absl::StatusCode::kUnavailable) {
    ++parts_.health.reconnects;
    parts_.intake.PutBack(commands);
    return parts_.connection.Lost();
  }
  if (commands.empty() && parts_.turns.turn() == Turn::kShared) parts_.leases.PutOff();
  if (parts_.connection.Rollback() && SqlStateOf(status) == kLockTimeout) {
    parts_.connection.EndIdleHolder();
    return parts_.intake.PutBack(commands);
  }
  parts_.health.Tell(absl::StrCat("the database does not take writes: ", status.message()));
  parts_.intake.Refuse(commands, Unwritable());
  parts_.health.reachable = false;
  parts_.intake.RefuseAll(Unwritable());
  parts_.connection.Close();
  parts_.connection.Pause();
}

void BatchEnds::Lost(std::unique_ptr<Batch> batch, const absl::Status& status) {
  parts_.health.in_doubt += batch->command_count();
  parts_.health.Tell(absl::StrCat(
      "it is not known whether the last batch of writes was committed: ", status.message()));
  parts_.turns.Lost(std::move(batch));
  parts_.connection.Lost();
}

bool BatchEnds::Settle(Batch& batch) {
  batch.ForceRow();
  const Batch* const in_doubt = parts_.turns.in_doubt();
  if (in_doubt == nullptr) return true;
  const Position& position = in_doubt->next()->position();
  QueryRows rows;
  const absl::Status status = parts_.connection.database().Run(
      absl::StrCat("SELECT batch_id FROM log WHERE revision = ", position.revision.number), &rows);
  if (!status.ok()) {
    parts_.connection.Close();
    return false;
  }
  if (rows.size() > 0 && BatchId::Parse(rows.Text(0, 0)) == position.batch) {
    parts_.turns.Found();
    return true;
  }
  // If the log has reached the revision of the batch in doubt but has no row for it, that row was
  // deleted because of its age, and nobody can tell any more which batch it was of.
  const bool passed = batch.base()->position().revision.number >= position.revision.number;
  if (rows.size() == 0 && passed) ForgetOutcomes(*in_doubt);
  parts_.turns.Missing();
  return true;
}

void BatchEnds::ForgetOutcomes(const Batch& batch) {
  std::vector<PendingPtr> unknown;
  for (const PendingPtr& pending : batch.Commands()) {
    pending->may_be_done = true;
    if (!KeyOf(pending->command)) unknown.push_back(pending);
  }
  parts_.health.Tell(absl::StrCat("the log row of a batch in doubt was deleted: the outcome of ",
                                  unknown.size(), " commands without a request id stays unknown"));
  parts_.intake.Refuse(unknown, OutcomeUnknown());
}

void BatchEnds::Reload() {
  if (!parts_.connection.is_open()) return;
  absl::StatusOr<State> state = LoadState(parts_.connection.database());
  if (!state.ok()) {
    parts_.health.Tell(absl::StrCat("cannot load the tables: ", state.status().message()));
    if (state.status().code() == absl::StatusCode::kDataLoss) parts_.health.writing_stopped = true;
    parts_.health.reachable = false;
    parts_.connection.Close();
    return parts_.connection.Pause();
  }
  ++parts_.health.reloads;
  parts_.publisher.Replace(std::make_shared<const State>(*std::move(state)));
}

}  // namespace berth::placement
