// Catching up: reads the log rows that other processes wrote and applies them to the published
// state.
//
// Two threads catch up. The writer holds the ledger's lock and needs the state of the newest row.
// The follower does not hold the lock. Both may catch up at the same time: see Publisher.
#ifndef BERTH_PLACEMENT_PUBLISH_CATCH_UP_H_
#define BERTH_PLACEMENT_PUBLISH_CATCH_UP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "placement/publish/publisher.h"
#include "placement/store/database.h"
#include "placement/store/rows.h"

namespace berth::placement {

enum class CaughtUp {
  kAll,        // the published state has reached the newest row of the log
  kSome,       // the log may have more rows: call again
  kReload,     // the log lacks the rows right after the published state: load the tables
  kWentBack,   // this log never had the published state: the database went back in time
  kTooNew,     // the next row has a newer format than this release reads
  kCommitting  // the next row belongs to the batch that the writer is committing
};

struct CatchUpStep {
  CaughtUp end = CaughtUp::kAll;
  int applied = 0;  // how many rows were applied
  Revision head;    // the newest revision of the log with its batch; set only if `end` is kWentBack
};

// Reads at most `rows_max` log rows and applies them. Fails as Database::Run does, or with
// kDataLoss if the content of a row cannot be decoded. The rows before the failure stay applied.
absl::StatusOr<CatchUpStep> CatchUp(Database& database, Publisher& publisher, int rows_max);

// Applies `rows`, log rows in order, to the published state, up to the first one that cannot be
// applied. CatchUp finds out why that row cannot be applied. Rows that the state contains already
// are passed over. Returns how many rows were applied.
int ApplyRead(const std::vector<LogRow>& rows, Publisher& publisher);

// Whether the database has lost `seen`, a position that a process once had. True if the log ends
// before `seen`, or if another batch has the revision of `seen`. False if an operator began a later
// epoch, or if the log row of `seen` was deleted because of its age. Fails as Database::Run does.
absl::StatusOr<bool> HasLost(Database& database, const Position& seen);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_PUBLISH_CATCH_UP_H_
