// The ends that a move can have, with the word, the lawful types and the side of each. This is the
// only table of them. Pure.
#ifndef BERTH_PLACEMENT_VALUES_MOVE_END_H_
#define BERTH_PLACEMENT_VALUES_MOVE_END_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "placement/values/instance.h"

namespace berth::placement {

// The numbers are those of the enum MoveEnd in record.proto.
enum class MoveEnd {
  kConfirmed = 1,  // the user accepts a resize or cold migration (T-173)
  kReverted = 2,   // the user does not accept it: the instance is on the source again (T-174)
  kCompleted = 3,  // a live migration has succeeded (T-179), or the source host of an evacuation
                   // is back and has removed what was left over (T-146)
  kDone = 4,       // an evacuation has succeeded (T-177)
  kFailed = 5,     // the move was given up: the instance is on the source (T-147, T-178), or has
                   // moved on to a third host
  kCancelled = 6,  // somebody stopped a live migration, and the instance is on the source
};

enum class MoveSide { kSource, kDestination };

struct MoveEnding {
  MoveEnd end{};
  absl::string_view status;               // of the migration afterwards (values/migration_status.h)
  absl::Span<const MigrationType> types;  // the types of moves that may end so
  MoveSide side{};                        // on which the instance is afterwards
};

// All ends, each once.
absl::Span<const MoveEnding> MoveEndings();
// The ending with this number or with this word; null if there is none.
const MoveEnding* FindMoveEnding(MoveEnd end);
const MoveEnding* FindMoveEnding(absl::string_view status);

// Why the migration cannot end so now, as a part of a sentence; empty if it can. Its type must allow
// the end, an end on the destination needs a destination, and its status must say that the move
// still holds resources. One end follows another: the source host of an evacuation that is `done`
// ends it again, when it is back, as `completed` or as `failed` (T-146, T-147).
absl::string_view WhyNotEnd(const MigrationRecord& migration, const MoveEnding& ending);

// The word for a type of moves, for example "live".
absl::string_view WordOf(MigrationType type);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_MOVE_END_H_
