// The moves of a history: their types, their ends, and what becomes of the rows (allocations) of the
// instance's and the migration's consumer at the end. It shares no code with the product. Pure.
//
// An operation of Kind::kEndMove has four parts: the migration, with one row that has the status of
// the end; the record of the instance, with a row if the request writes the record; the consumer of
// the instance; and the consumer of the migration.
#ifndef BERTH_TESTS_HISTORY_CHECKER_MOVE_H_
#define BERTH_TESTS_HISTORY_CHECKER_MOVE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/history/checker/timeline.h"
#include "tests/history/history.h"

namespace berth::history {

// The numbers are those of berth.placement.v1.MoveEnd.
enum class End : int32_t { kConfirmed = 1, kReverted, kCompleted, kDone, kFailed, kCancelled };
inline constexpr int kEnds = 6;
// The numbers are those of berth.placement.v1.MigrationType.
enum class MoveType { kCold = 1, kResize, kLive, kEvacuation };

// A status is a number. One above kEndStatus is that of a move which has ended.
inline constexpr int32_t kEndStatus = 100;
inline int32_t StatusAfter(End end) { return kEndStatus + static_cast<int32_t>(end); }
// The end that leads to `status`; none: the move is in progress.
std::optional<End> EndIn(int32_t status);

// The type of a migration follows from its number.
MoveType TypeOf(uint64_t migration);
// The ends that moves of this type may have.
std::vector<End> EndsOf(MoveType type);
// Whether the instance is on the destination after the end.
bool Arrives(End end);

// A migration that is to end, and where its instance is then.
struct Move {
  uint64_t migration = 0;
  std::vector<Row> rows;  // of the migration's record, before the end
  uint16_t host = 0;      // of the instance, after the end
};
struct MoveAfter {
  Reason reason = Reason::kNone;  // why the move cannot end so; kNone: it can
  bool changes = false;           // whether a consumer holds something else, or loses its lease
  std::vector<Row> held;          // by the instance's consumer
};
// The end of `move` in the state after `step`.
MoveAfter AfterEnd(const Timeline& timeline, uint32_t step, const Move& move, End end);

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_CHECKER_MOVE_H_
