// The part of the writer that sends batches on the short road (roads.h).
//
// The batch is decided on the newest published state, without the lock. Its message takes the lock,
// compares the head of the log and the request ids, and writes the batch. So the message may reach
// PostgreSQL late, for example after this process has given up the connection: it then writes
// nothing, if any other batch was written meanwhile.
#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "placement/ground/boot_clock.h"
#include "placement/store/rows.h"
#include "placement/writer/writer.h"

namespace berth::placement {

Road Writer::ChooseRoad(const std::vector<PendingPtr>& commands) {
  if (turns_.turn() != Turn::kShared || committed_ == BatchId()) return Road::kLong;
  const bool looks_up = std::any_of(commands.begin(), commands.end(), [](const auto& pending) {
    return std::holds_alternative<FindRequest>(pending->command.body);
  });
  const bool wrote_last = publisher_->Newest()->position().batch == committed_;
  // A session that was ended while it was idle has sent a message. The long road meets this failure
  // before it has begun a command.
  if (!connection_->Silent()) return Road::kLong;
  return roads_.Next(wrote_last, looks_up);
}

void Writer::TakeShortRoad(std::vector<PendingPtr> commands) {
  const StatePtr base = publisher_->Newest();
  auto batch =
      std::make_unique<Batch>(base, clock_.Now(base->position()), std::vector<KeptRequest>());
  batch->BeginLater();
  OfferExpiry(*batch);
  DecideAll(commands, true, *batch);
  // Batches may follow each other here for long.
  commands.clear();
  if (!batch->writes() && batch->command_count() == 0) turns_.Decided(false);
  std::unique_ptr<Batch> done;  // took effect; to be answered when the next message is on its way
  while (batch != nullptr && (batch->writes() || batch->command_count() > 0)) {
    const bool sent = Send(*batch, &done);
    if (done != nullptr) AnswerCommitted(*std::exchange(done, nullptr));
    if (!sent) return;
    std::unique_ptr<Batch> ahead = DecideAhead(*batch);
    if (ahead != nullptr) Step(LedgerStep::kDecidedAhead);
    if (!Receive(batch, ahead)) return;
    done = std::exchange(batch, std::move(ahead));
    if (batch == nullptr) continue;
    if (batch->command_count() > 0) ++health_->ahead_batches;
    // The list would else grow for as long as one batch follows another.
    NoteBegun(done->Commands(), batch->Commands());
  }
  if (done != nullptr) AnswerCommitted(*done);
}

bool Writer::Send(Batch& batch, std::unique_ptr<Batch>* before) {
  if (!health_->WhyNoWrites().ok()) {
    TakeBack(batch);
    return false;
  }
  const Statement& sql = batch.Prepare(options_.log_rows_kept);
  if (*before != nullptr && !connection_->HasPrepared(sql)) {
    AnswerCommitted(*std::exchange(*before, nullptr));
  }
  Step(LedgerStep::kDecided);
  if (!batch.BeginAll(BootNow())) {
    ++health_->dropped_batches;
    // Under load, other commands may be too late when this batch has been decided again. The long
    // road leaves out only the commands that are too late.
    roads_.Failed();
    TakeBack(batch);
    return false;
  }
  if (batch.writes()) {
    publisher_->BeginCommit(batch.id());
    Step(LedgerStep::kBeforeWrite);
  }
  sent_at_ = publisher_->boot_now();
  writing_rows_ = batch.row_count();
  const absl::Status status = connection_->Send(sql);
  if (status.ok()) return true;
  writing_rows_ = 0;
  if (batch.writes()) publisher_->EndCommit(batch.id());
  NotWritten(status, batch);
  return false;
}

bool Writer::Receive(std::unique_ptr<Batch>& batch, std::unique_ptr<Batch>& ahead) {
  QueryRows rows;
  const absl::Status status = connection_->Receive(&rows);
  writing_rows_ = 0;
  if (status.ok() && rows.size() == 1) {
    roads_.SawHead(false);
    ++health_->short_batches;
    turns_.Decided(batch->row_count() > options_.batch_rows_max);
    if (batch->writes()) {
      PublishCommitted(*batch, sent_at_);
    } else {
      BatchSucceeded();
    }
    return true;
  }
  if (batch->writes()) publisher_->EndCommit(batch->id());
  // The batch that was decided ahead stands on changes that do not exist.
  if (ahead != nullptr) {
    ++health_->dropped_batches;
    TakeBack(*ahead);
  }
  if (status.code() == absl::StatusCode::kUnavailable && batch->writes()) {
    Lost(std::move(batch), status);
  } else {
    NotWritten(status, *batch);
  }
  return false;
}

// The next batch takes the long road, which finds out why, and refuses what must be refused.
void Writer::NotWritten(const absl::Status& status, Batch& batch) {
  roads_.Failed();
  not_written_ = true;
  TakeBack(batch);
  if (status.ok()) {
    ++health_->moved_batches;
    return;
  }
  if (status.code() == absl::StatusCode::kUnavailable) {
    ++health_->reconnects;
    return ConnectionLost();
  }
  if (batch.command_count() == 0) {
    // The row that records the ledger time was refused. Nobody waits for this row.
    PutOffLeases();
    health_->Tell(absl::StrCat("the database does not take writes: ", status.message()));
  } else if (status.code() == absl::StatusCode::kInternal) {
    health_->Tell(
        absl::StrCat("a batch of writes was refused in one round trip, so it is tried in two: ",
                     status.message()));
  }
  if (SqlStateOf(status) == kLockTimeout) EndIdleHolder();
}

// Puts the commands of `batch` back to the front of the queue, as if no batch had begun them.
void Writer::TakeBack(Batch& batch) {
  batch.ReturnAll();
  std::vector<PendingPtr> commands = batch.Commands();
  // The next batch makes its own command that releases leases.
  commands.erase(
      std::remove_if(commands.begin(), commands.end(),
                     [](const PendingPtr& pending) {
                       return std::holds_alternative<ExpireLeases>(pending->command.body);
                     }),
      commands.end());
  PutBack(commands);
}

}  // namespace berth::placement
