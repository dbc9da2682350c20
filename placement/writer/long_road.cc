#include "placement/writer/long_road.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace berth::placement {
namespace {

constexpr int kCatchUpRows = 500;
// So many log rows are read together with the lock. More rows are read after it.
constexpr int kRowsWithLock = 64;

std::vector<RequestKey> KeysOf(const std::vector<PendingPtr>& commands) {
  std::vector<RequestKey> keys;
  for (const PendingPtr& pending : commands) {
    std::optional<RequestKey> key = KeyOf(pending->command);
    if (key) keys.push_back(*std::move(key));
  }
  return keys;
}

}  // namespace

void LongRoad::Take(const std::vector<PendingPtr>& commands) {
  const absl::Duration began = parts_.options.boot_clock();
  const Position known = parts_.publisher.Newest()->position();
  const absl::StatusOr<LockedHead> locked = LockAndReadHead(
      parts_.connection.database(), known.revision.number, kRowsWithLock, KeysOf(commands));
  if (!locked.ok()) return batch_ends_->LockFailed(locked.status(), commands);
  parts_.options.Step(LedgerStep::kLocked);
  const BatchId head = locked->head ? locked->head->position.batch : BatchId();
  parts_.roads.SawHead(head != known.batch);
  parts_.health.followed_rows += ApplyRead(locked->missing, parts_.publisher);
  if (!ReachHead(locked->head)) return parts_.intake.PutBack(commands);
  parts_.publisher.SetFresh(began);
  const StatePtr base = parts_.publisher.Newest();
  auto batch = std::make_unique<Batch>(base, parts_.clock.Now(base->position()), locked->requests);
  if (base->position().batch == batch_ends_->committed()) batch->TrustBase();
  if (parts_.turns.turn() == Turn::kSettle && !batch_ends_->Settle(*batch)) return;
  // PostgreSQL must not end the session while a large command is decided.
  if (parts_.intake.HasLarge(commands) &&
      !parts_.connection.database().Run(LargeBatchSql(), nullptr).ok()) {
    parts_.connection.Close();
    return parts_.intake.PutBack(commands);
  }
  Decide(commands, *batch);
  if (batch->writes() || batch->compares()) return Write(std::move(batch));
  const bool ended = parts_.connection.Rollback();
  batch_ends_->AnswerAll(*batch);
  if (ended) parts_.connection.Succeeded();
}

bool LongRoad::ReachHead(const std::optional<LogRow>& head) {
  const Position wanted = head ? head->position : Position();
  while (true) {
    const StatePtr newest = parts_.publisher.Newest();
    const Position& position = newest->position();
    if (position.revision == wanted.revision && position.batch == wanted.batch) {
      if (wanted.format <= kLogFormat) return true;
      parts_.health.format_too_new = true;
      parts_.connection.Rollback();
      return false;
    }
    const absl::StatusOr<CatchUpStep> step =
        CatchUp(parts_.connection.database(), parts_.publisher, kCatchUpRows);
    if (step.ok()) parts_.health.followed_rows += step->applied;
    if (step.ok() && (step->end == CaughtUp::kAll || step->end == CaughtUp::kSome)) continue;
    StopBehindHead(step, wanted);
    return false;
  }
}

void LongRoad::StopBehindHead(const absl::StatusOr<CatchUpStep>& step, const Position& head) {
  if (step.ok() && step->end == CaughtUp::kWentBack) {
    const Revision known = parts_.publisher.Newest()->position().revision;
    parts_.health.SetDatabaseRevision(step->head);
    parts_.health.RequireRecovery(absl::StrCat(
        "the database went back in time: this process has revision ", known.number, " of epoch ",
        known.epoch, ", the database ", head.revision.number, " of epoch ", head.revision.epoch));
  }
  if (step.ok() && step->end == CaughtUp::kTooNew) parts_.health.format_too_new = true;
  if (!step.ok()) parts_.health.Tell(std::string(step.status().message()));
  if (step.status().code() == absl::StatusCode::kDataLoss) parts_.health.writing_stopped = true;
  if (parts_.connection.Rollback() && step.ok() && step->end == CaughtUp::kReload) {
    batch_ends_->Reload();
  }
  if (!step.ok()) parts_.connection.Pause();
}

void LongRoad::Decide(const std::vector<PendingPtr>& commands, Batch& batch) {
  const bool shared = parts_.turns.turn() == Turn::kShared;
  if (shared) parts_.leases.Offer(batch);
  if (parts_.intake.DecideAll(commands, true, batch) && shared) FillUp(batch);
  parts_.turns.Decided(batch.row_count() > parts_.options.batch_rows_max);
}

void LongRoad::FillUp(Batch& batch) {
  const int room = parts_.queue.RoomIn(batch.weight(), parts_.options.batch_weight_max, BootNow());
  // The comparison of request ids always fails while the log is empty.
  const bool log_is_empty = batch.base()->position().revision.number == 0;
  if (!parts_.roads.MayFillUp() || room <= 0 || log_is_empty) return;
  std::vector<PendingPtr> commands;
  (void)parts_.intake.TakeMore(room, nullptr, &commands);
  batch.CompareNext();
  (void)parts_.intake.DecideAll(commands, false, batch);
}

void LongRoad::Write(std::unique_ptr<Batch> batch) {
  const bool writes = batch->writes();
  const Statement& sql = batch->Prepare(parts_.options.log_rows_kept);
  if (writes) parts_.publisher.BeginCommit(batch->id());
  parts_.options.Step(LedgerStep::kBeforeWrite);
  const absl::Duration began = parts_.options.boot_clock();
  parts_.connection.Expect(batch->row_count());
  QueryRows rows;
  const absl::Status status = parts_.connection.database().RunAndCommit(sql, &rows);
  parts_.connection.Expect(0);
  if (status.ok() && rows.size() == 1) {
    if (!writes) {
      parts_.connection.Succeeded();
      return batch_ends_->AnswerAll(*batch);
    }
    batch_ends_->Publish(*batch, began);
    return batch_ends_->AnswerCommitted(*batch);
  }
  if (writes) parts_.publisher.EndCommit(batch->id());
  const bool lost = status.code() == absl::StatusCode::kUnavailable;
  if (status.ok() || (lost && !writes)) return batch_ends_->NotWritten(status, *batch);
  if (!lost) return batch_ends_->Refused(status, *batch);
  batch_ends_->Lost(std::move(batch), status);
}

}  // namespace berth::placement
