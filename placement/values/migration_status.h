// The words for the status of a migration, and their meaning. This is the only list of them in
// placement/: all code there asks this list whether a migration is over. Pure.
#ifndef BERTH_PLACEMENT_VALUES_MIGRATION_STATUS_H_
#define BERTH_PLACEMENT_VALUES_MIGRATION_STATUS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "placement/values/instance.h"

namespace berth::placement {

// Whether the source and the destination of a move hold resources for the move (T-123).
enum class MigrationStanding {
  kInProgress,  // both hold resources
  kLeftover,    // the move is over, but both hold resources until somebody cleans up
  kOver,        // the move is over, and neither holds resources for it
};

struct MigrationStatus {
  absl::string_view word;
  MigrationStanding standing;
};

// The status of a migration that was created without one (T-125).
inline constexpr absl::string_view kAcceptedStatus = "accepted";
// The status of an evacuation that has succeeded, until its source host is back (T-146).
inline constexpr absl::string_view kDoneStatus = "done";

// The status of a cold migration or resize that waits for its user to confirm or to revert it.
inline constexpr absl::string_view kFinishedStatus = "finished";

// All words, each once.
absl::Span<const MigrationStatus> MigrationStatuses();

// The standing of a migration with this status. An unknown word counts as in progress, so that the
// migration's resources are not given to others too early (T-125).
MigrationStanding StandingOf(absl::string_view status);

inline bool IsInProgress(absl::string_view status) {
  return StandingOf(status) == MigrationStanding::kInProgress;
}
// Whether the trackers of source and destination need the record: they may count resources for it.
inline bool HoldsResources(absl::string_view status) {
  return StandingOf(status) != MigrationStanding::kOver;
}
// Whether the source of the migration may still have the guest of an evacuation that has succeeded:
// the source host was away, and has not cleaned up yet (T-146).
inline bool LeavesGuest(const MigrationRecord& migration) {
  return migration.type == MigrationType::kEvacuation && migration.status == kDoneStatus;
}

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_MIGRATION_STATUS_H_
