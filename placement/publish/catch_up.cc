#include "placement/publish/catch_up.h"

#include <memory>
#include <utility>
#include <vector>

namespace berth::placement {
namespace {

// Finds out why the log has no row with the revision of the published state: the row was deleted
// because of its age, or an operator began a new epoch before this revision, or the database lost
// the row.
absl::StatusOr<CaughtUp> WhyMissing(Database& database, const Position& position) {
  BERTH_ASSIGN_OR_RETURN(const std::optional<LogRow> head, ReadHead(database));
  if (!head) return CaughtUp::kWentBack;
  const Revision newest = head->position.revision;
  if (newest.epoch > position.revision.epoch) return CaughtUp::kReload;
  return newest.number > position.revision.number ? CaughtUp::kReload : CaughtUp::kWentBack;
}

// Compares the first of `rows` with the published state `from`; the rows were read from the
// revision of `from` on. Returns kAll if the first row is the row of that state; else the reason
// why the rows cannot be applied.
absl::StatusOr<CaughtUp> CheckFirst(Database& database, const std::vector<LogRow>& rows,
                                    const Position& from) {
  if (rows.empty() || rows.front().position.revision.number != from.revision.number) {
    return WhyMissing(database, from);
  }
  const LogRow& row = rows.front();
  if (row.position.batch == from.batch) return CaughtUp::kAll;
  return row.position.revision.epoch > from.revision.epoch ? CaughtUp::kReload
                                                           : CaughtUp::kWentBack;
}

// Applies `row` to the published state and counts it in `applied`. Returns kAll if the state now
// contains the row; else the reason why the row cannot be applied.
absl::StatusOr<CaughtUp> ApplyRow(const LogRow& row, Publisher& publisher, int* applied) {
  if (row.position.format > kLogFormat) return CaughtUp::kTooNew;
  // committing() must be called before Newest(): see invariant 3 of Publisher.
  const BatchId committing = publisher.committing();
  const StatePtr newest = publisher.Newest();
  const int64_t number = row.position.revision.number;
  if (number <= newest->position().revision.number) return CaughtUp::kAll;
  if (number != newest->position().revision.number + 1) return CaughtUp::kReload;
  if (row.previous != newest->position().batch) return CaughtUp::kWentBack;
  if (row.position.batch == committing) return CaughtUp::kCommitting;
  BERTH_ASSIGN_OR_RETURN(const std::vector<LogCommand> commands, DecodeBatch(row.payload));
  auto next = std::make_shared<State>(*newest);
  for (const LogCommand& command : commands) next->Apply(*command.changes);
  next->set_position(row.position);
  if (publisher.Publish(*newest, std::move(next), commands)) {
    publisher.WakeFollowers();
    ++*applied;
  }
  return CaughtUp::kAll;
}

absl::StatusOr<CatchUpStep> ApplyRows(Database& database, Publisher& publisher, int rows_max) {
  const Position from = publisher.Newest()->position();
  BERTH_ASSIGN_OR_RETURN(const std::vector<LogRow> rows,
                         ReadLog(database, from.revision.number, rows_max));
  CatchUpStep step;
  if (from.revision.number > 0) {
    BERTH_ASSIGN_OR_RETURN(step.end, CheckFirst(database, rows, from));
  }
  // The first row belongs to the published state, so ApplyRow skips it.
  for (auto row = rows.begin(); row != rows.end() && step.end == CaughtUp::kAll; ++row) {
    BERTH_ASSIGN_OR_RETURN(step.end, ApplyRow(*row, publisher, &step.applied));
  }
  const bool may_have_more = static_cast<int>(rows.size()) == rows_max;
  if (step.end == CaughtUp::kAll && may_have_more) step.end = CaughtUp::kSome;
  return step;
}

}  // namespace

int ApplyRead(const std::vector<LogRow>& rows, Publisher& publisher) {
  int applied = 0;
  for (const LogRow& row : rows) {
    const absl::StatusOr<CaughtUp> end = ApplyRow(row, publisher, &applied);
    if (!end.ok() || *end != CaughtUp::kAll) break;
  }
  return applied;
}

absl::StatusOr<bool> HasLost(Database& database, const Position& seen) {
  if (seen.revision.number == 0) return false;
  BERTH_ASSIGN_OR_RETURN(const std::vector<LogRow> rows,
                         ReadLog(database, seen.revision.number, 1));
  if (!rows.empty() && rows.front().position.revision.number == seen.revision.number) {
    const Position& there = rows.front().position;
    return there.batch != seen.batch && there.revision.epoch <= seen.revision.epoch;
  }
  BERTH_ASSIGN_OR_RETURN(const CaughtUp why, WhyMissing(database, seen));
  return why == CaughtUp::kWentBack;
}

absl::StatusOr<CatchUpStep> CatchUp(Database& database, Publisher& publisher, int rows_max) {
  absl::StatusOr<CatchUpStep> step = ApplyRows(database, publisher, rows_max);
  if (!step.ok() || step->end != CaughtUp::kWentBack) return step;
  BERTH_ASSIGN_OR_RETURN(const std::optional<LogRow> head, ReadHead(database));
  if (head) step->head = head->position.resume_point();
  return step;
}

}  // namespace berth::placement
