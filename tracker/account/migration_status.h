// The words for the status of a migration, and whether a migration with that status counts.
//
// This table is the only list of the words in `tracker/`. Pure functions.
#ifndef BERTH_TRACKER_ACCOUNT_MIGRATION_STATUS_H_
#define BERTH_TRACKER_ACCOUNT_MIGRATION_STATUS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace berth::tracker {

enum class Progress {
  kInProgress,  // may hold resources on its source and on its destination
  kFailing,     // ended with an error, and holds resources until it has been cleaned up
  kOver,        // holds nothing
};

struct MigrationStatus {
  absl::string_view word;
  Progress progress;
  // Whether a live migration with this status is moving its guest at the moment (T-127).
  bool moves_live;
  // An evacuation with this status left a guest behind on its source, which the source has to
  // remove when it starts again (T-146).
  bool leaves_guest;
  // The destination of a migration with this status has, or had, the guest. What was claimed there
  // cannot be given back by an abort any more.
  bool arrived;
};

// Every word, in the order in which migrations pass through them (T-126).
absl::Span<const MigrationStatus> MigrationStatuses();

// Returns the table's line for the word. For a word that the table does not have, returns a line
// with kInProgress: resources that may be needed are kept (T-125).
MigrationStatus StatusOf(absl::string_view word);

// Whether the table has the word. An audit tells of migrations with other words (T-125).
bool IsKnownStatus(absl::string_view word);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_ACCOUNT_MIGRATION_STATUS_H_
