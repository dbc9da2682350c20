#include "placement/ledger/catch_up.h"

#include <memory>
#include <utility>
#include <vector>

#include "placement/store/rows.h"

namespace berth::placement {
namespace {

// Where the published state's own row is not to be found: it is beyond the horizon, of an epoch
// that an operator ended, or of a future that the database has lost.
absl::StatusOr<CaughtUp> WhyMissing(Database& database, const Position& position) {
  const absl::StatusOr<std::optional<LogRow>> head = ReadHead(database);
  if (!head.ok()) return head.status();
  if (!*head) return CaughtUp::kWentBack;
  const Revision newest = (*head)->position.revision;
  if (newest.epoch > position.revision.epoch) return CaughtUp::kReload;
  return newest.number > position.revision.number ? CaughtUp::kReload : CaughtUp::kWentBack;
}

// Applies `row` to the published state `base`. Returns whether it was not published already.
absl::StatusOr<bool> ApplyRow(const LogRow& row, const StatePtr& base, Publisher& publisher) {
  absl::StatusOr<std::vector<LogCommand>> commands = DecodeBatch(row.payload);
  if (!commands.ok()) return commands.status();
  auto next = std::make_shared<State>(*base);
  for (const LogCommand& command : *commands) next->Apply(*command.changes);
  next->set_position(row.position);
  return publisher.Publish(*base, std::move(next), *commands);
}

absl::StatusOr<CatchUpStep> ApplyRows(Database& database, Publisher& publisher, int rows_max) {
  const BatchId committing = publisher.committing();
  StatePtr newest = publisher.Newest();
  const Position from = newest->position();
  const absl::StatusOr<std::vector<LogRow>> rows =
      ReadLog(database, from.revision.number, rows_max);
  if (!rows.ok()) return rows.status();
  CatchUpStep step;
  auto row = rows->begin();
  if (from.revision.number > 0) {
    if (row == rows->end() || row->position.revision.number != from.revision.number) {
      const absl::StatusOr<CaughtUp> why = WhyMissing(database, from);
      if (!why.ok()) return why.status();
      step.end = *why;
      return step;
    }
    if (row->position.batch != from.batch) {
      step.end = row->position.revision.epoch > from.revision.epoch ? CaughtUp::kReload
                                                                    : CaughtUp::kWentBack;
      return step;
    }
    ++row;
  }
  for (; row != rows->end(); ++row) {
    if (row->position.format > kLogFormat) {
      step.end = CaughtUp::kTooNew;
      return step;
    }
    // Somebody else may have moved the state on in the meantime.
    newest = publisher.Newest();
    const int64_t number = row->position.revision.number;
    if (number <= newest->position().revision.number) continue;
    if (number != newest->position().revision.number + 1) {
      step.end = CaughtUp::kReload;
      return step;
    }
    if (row->previous != newest->position().batch) {
      step.end = CaughtUp::kWentBack;
      return step;
    }
    if (row->position.batch == committing || row->position.batch == publisher.committing()) {
      step.end = CaughtUp::kCommitting;
      return step;
    }
    const absl::StatusOr<bool> applied = ApplyRow(*row, newest, publisher);
    if (!applied.ok()) return applied.status();
    step.applied += *applied ? 1 : 0;
  }
  if (static_cast<int>(rows->size()) == rows_max) step.end = CaughtUp::kSome;
  return step;
}

}  // namespace

absl::StatusOr<CatchUpStep> CatchUp(Database& database, Publisher& publisher, int rows_max) {
  absl::StatusOr<CatchUpStep> step = ApplyRows(database, publisher, rows_max);
  if (!step.ok() || step->end != CaughtUp::kWentBack) return step;
  const absl::StatusOr<std::optional<LogRow>> head = ReadHead(database);
  if (!head.ok()) return head.status();
  if (*head) step->head = (*head)->position.revision;
  return step;
}

}  // namespace berth::placement
