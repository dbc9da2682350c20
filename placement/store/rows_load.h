// Loads the whole state from the tables. This happens at the start of a process, and if the log no
// longer has the rows right after the state of the process.
#ifndef BERTH_PLACEMENT_STORE_ROWS_LOAD_H_
#define BERTH_PLACEMENT_STORE_ROWS_LOAD_H_

#include "absl/status/statusor.h"
#include "placement/state/state.h"
#include "placement/store/database.h"

namespace berth::placement {

// The state that the tables hold at the newest log row, read in one snapshot. Fails as
// Database::Run, with kFailedPrecondition if the log has a format that this release does not know,
// or with kDataLoss if rows contradict each other. The message of kDataLoss names one of these
// rows.
absl::StatusOr<State> LoadState(Database& database);
// Like LoadState, but reads within the open transaction. REQUIRES: that transaction holds the
// ledger's lock.
absl::StatusOr<State> LoadTables(Database& database);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_ROWS_LOAD_H_
