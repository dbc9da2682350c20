#include "placement/writer/short_road.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "placement/ground/boot_clock.h"
#include "placement/state/lookup.h"

namespace berth::placement {
namespace {

// The writer is woken during a commit only if commands of this weight wait: lighter work is done
// faster than a thread is woken.
constexpr int kWakeWeight = 16;
// When commands of this weight are decided, the writer looks again whether the commit has ended.
constexpr int kLookWeight = 32;

}  // namespace

void ShortRoad::Take(std::vector<PendingPtr> commands) {
  const StatePtr base = parts_.publisher.Newest();
  auto batch = std::make_unique<Batch>(base, parts_.clock.Now(base->position()));
  parts_.leases.Offer(*batch);
  parts_.intake.DecideAll(commands, true, *batch);
  // Batches may follow each other here for long.
  commands.clear();
  if (!batch->writes() && batch->command_count() == 0) parts_.turns.Decided(false);
  std::unique_ptr<Batch> done;  // took effect; to be answered when the next message is on its way
  while (batch != nullptr && (batch->writes() || batch->command_count() > 0)) {
    const bool sent = Send(*batch, &done);
    if (done != nullptr) batch_ends_->AnswerCommitted(*std::exchange(done, nullptr));
    if (!sent) return;
    std::unique_ptr<Batch> ahead = DecideAhead(*batch);
    if (ahead != nullptr) parts_.options.Step(LedgerStep::kDecidedAhead);
    if (!Receive(batch, ahead)) return;
    done = std::exchange(batch, std::move(ahead));
    if (batch == nullptr) continue;
    if (batch->command_count() > 0) ++parts_.health.ahead_batches;
    // The list would else grow for as long as one batch follows another.
    parts_.intake.NoteBegun(done->Commands(), batch->Commands());
  }
  if (done != nullptr) batch_ends_->AnswerCommitted(*done);
}

bool ShortRoad::Send(Batch& batch, std::unique_ptr<Batch>* before) {
  if (!parts_.health.WhyNoWrites().ok()) {
    parts_.intake.TakeBack(batch);
    return false;
  }
  const Statement& sql = batch.Prepare(parts_.options.log_rows_kept);
  Database& database = parts_.connection.database();
  if (*before != nullptr && !database.HasPrepared(sql)) {
    batch_ends_->AnswerCommitted(*std::exchange(*before, nullptr));
  }
  parts_.options.Step(LedgerStep::kDecided);
  if (!batch.BeginAll(BootNow())) {
    ++parts_.health.dropped_batches;
    // Under load, other commands may be too late when this batch has been decided again. The long
    // road leaves out only the commands that are too late.
    parts_.roads.Failed();
    parts_.intake.TakeBack(batch);
    return false;
  }
  if (batch.writes()) {
    parts_.publisher.BeginCommit(batch.id());
    parts_.options.Step(LedgerStep::kBeforeWrite);
  }
  sent_at_ = parts_.options.boot_clock();
  parts_.connection.Expect(batch.row_count());
  const absl::Status status = database.Send(sql);
  if (status.ok()) return true;
  parts_.connection.Expect(0);
  if (batch.writes()) parts_.publisher.EndCommit(batch.id());
  batch_ends_->NotWritten(status, batch);
  return false;
}

bool ShortRoad::Receive(std::unique_ptr<Batch>& batch, std::unique_ptr<Batch>& ahead) {
  QueryRows rows;
  const absl::Status status = parts_.connection.database().Receive(&rows);
  parts_.connection.Expect(0);
  if (status.ok() && rows.size() == 1) {
    parts_.roads.SawHead(false);
    ++parts_.health.short_batches;
    parts_.turns.Decided(batch->row_count() > parts_.options.batch_rows_max);
    if (batch->writes()) {
      batch_ends_->Publish(*batch, sent_at_);
    } else {
      parts_.connection.Succeeded();
    }
    return true;
  }
  if (batch->writes()) parts_.publisher.EndCommit(batch->id());
  // The batch that was decided ahead stands on changes that do not exist.
  if (ahead != nullptr) {
    ++parts_.health.dropped_batches;
    parts_.intake.TakeBack(*ahead);
  }
  if (status.code() == absl::StatusCode::kUnavailable && batch->writes()) {
    batch_ends_->Lost(std::move(batch), status);
  } else {
    batch_ends_->NotWritten(status, *batch);
  }
  return false;
}

bool ShortRoad::MayDecideAhead(const Batch& sent) {
  if (*stopping_ || sent.row_count() > parts_.options.batch_rows_max || parts_.leases.WantBatch()) {
    return false;
  }
  return !rotation_->IsDue(sent.now()) && !parts_.turns.OwnBatchWaits();
}

int ShortRoad::RoomIn(const Batch* batch) const {
  const int taken = batch == nullptr ? 0 : batch->weight();
  return parts_.queue.RoomIn(taken, parts_.options.batch_weight_max, BootNow());
}

std::unique_ptr<Batch> ShortRoad::DecideAhead(const Batch& sent) {
  std::unique_ptr<Batch> ahead;
  if (!MayDecideAhead(sent)) return nullptr;
  CommandQueue& queue = parts_.queue;
  while (true) {
    const int room = RoomIn(ahead.get());
    const bool many_wait = queue.Arm(std::min(room, kWakeWeight));
    const absl::Duration limit = many_wait ? absl::ZeroDuration() : kIdleWaitMax;
    if (parts_.connection.database().AwaitAnswer(queue.event(), limit)) break;
    if (!many_wait || AddAhead(sent, &ahead)) continue;
    if (ahead != nullptr) ahead->Prepare(parts_.options.log_rows_kept);
    return ahead;
  }
  // The commands that have come by now go with the batch, which is the next one anyhow.
  if (ahead != nullptr) AddAhead(sent, &ahead);
  return ahead;
}

bool ShortRoad::AddAhead(const Batch& sent, std::unique_ptr<Batch>* ahead) {
  const int room = RoomIn(ahead->get());
  std::vector<PendingPtr> commands;
  const bool none_asks = parts_.intake.TakeMore(std::min(room, kLookWeight), &sent, &commands);
  if (commands.empty()) return false;
  if (*ahead == nullptr) {
    const StatePtr base = sent.writes() ? sent.next() : sent.base();
    const absl::Time now =
        std::max(parts_.clock.Now(parts_.publisher.Newest()->position()), sent.now());
    // A lease that has ended since MayDecideAhead is released before these commands are decided.
    const std::optional<absl::Time> lease_end = FirstLeaseEnd(*base);
    if (lease_end && *lease_end <= now) {
      parts_.intake.PutBack(commands);
      return false;
    }
    *ahead = std::make_unique<Batch>(base, now);
  }
  // A large command would hold up the answers of `sent`, so it gets a batch of its own.
  const bool fitted = parts_.intake.DecideAll(commands, false, **ahead);
  return fitted && none_asks && RoomIn(ahead->get()) > 0;
}

}  // namespace berth::placement
