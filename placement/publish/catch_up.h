// Catching up: reads the log rows after the published state, and applies them to it. Mostly other
// processes have written these rows.
//
// The writer catches up while it holds the ledger's lock, to reach the state of the newest row. The
// follower catches up without the lock. The two may do so at the same time: see Publisher.
#ifndef BERTH_PLACEMENT_PUBLISH_CATCH_UP_H_
#define BERTH_PLACEMENT_PUBLISH_CATCH_UP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "placement/publish/publisher.h"
#include "placement/store/database.h"
#include "placement/store/rows.h"

namespace berth::placement {

enum class CaughtUp {
  kAll,        // the published state has reached the end of the log that was read
  kSome,       // the log may have more rows: call again
  kReload,     // the log does not show what follows the published state: load the tables
  kWentBack,   // the database went back in time: it has lost the published state
  kTooNew,     // the next row has a newer format than this release knows
  kCommitting  // the next row belongs to the batch that the writer is committing
};

struct CatchUpStep {
  CaughtUp end = CaughtUp::kAll;
  int applied = 0;  // how many rows this call applied
  Revision head;    // for kWentBack: the newest revision of the log, with its batch; else {0, 0}
};

// Reads at most `rows_max` log rows, beginning with that of the published state, and applies those
// after it. Fails as Database::Run does, or with kDataLoss if the content of a row cannot be
// decoded. Rows that were applied before a failure stay applied.
absl::StatusOr<CatchUpStep> CatchUp(Database& database, Publisher& publisher, int rows_max);

// Applies `rows`, which are log rows in order, to the published state, and returns how many it
// applied. Passes over rows whose revision number the state has reached. Stops at the first row
// that cannot be applied, and does not tell why: CatchUp does.
int ApplyRead(const std::vector<LogRow>& rows, Publisher& publisher);

// Whether the database has lost `seen`, a position that a process once had: the log ends before the
// revision number of `seen`, or has another batch at this number. But if the log row that shows
// this is of a later epoch than `seen`, the result is false, because an operator has accepted the
// loss. Fails as Database::Run does.
absl::StatusOr<bool> HasLost(Database& database, const Position& seen);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_PUBLISH_CATCH_UP_H_
