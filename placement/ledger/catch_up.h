// Catching up: the log rows that others wrote, applied to the published state.
//
// Used by the writer under the lock, where it ends at the head, and by the follower without it.
#ifndef BERTH_PLACEMENT_LEDGER_CATCH_UP_H_
#define BERTH_PLACEMENT_LEDGER_CATCH_UP_H_

#include "absl/status/statusor.h"
#include "placement/ledger/publisher.h"
#include "placement/store/database.h"

namespace berth::placement {

enum class CaughtUp {
  kAll,        // the published state is at the newest row that was seen
  kSome,       // there may be more rows: call again
  kReload,     // the log does not reach back to the published state: load the tables
  kWentBack,   // the published state is not of this log: the database went back in time
  kTooNew,     // a row of a newer format
  kCommitting  // the next row is that of the batch which the writer is committing
};

struct CatchUpStep {
  CaughtUp end = CaughtUp::kAll;
  int applied = 0;
  Revision head;  // of the database; only with kWentBack
};

// Reads up to `rows_max` rows and applies them. Fails as Database::Run, or with kDataLoss where a
// row cannot be read.
absl::StatusOr<CatchUpStep> CatchUp(Database& database, Publisher& publisher, int rows_max);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_CATCH_UP_H_
