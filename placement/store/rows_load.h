// Loads the whole state from the tables: at the start of a process, and if the log no longer reaches
// back to the state that the process has.
#ifndef BERTH_PLACEMENT_STORE_ROWS_LOAD_H_
#define BERTH_PLACEMENT_STORE_ROWS_LOAD_H_

#include "absl/status/statusor.h"
#include "placement/state/state.h"
#include "placement/store/database.h"

namespace berth::placement {

// The state that the tables hold at the newest log row, read in one snapshot. Fails as Database::Run,
// with kFailedPrecondition if the log has a format that this release does not know, or with kDataLoss
// if rows contradict each other; the message names one of them.
absl::StatusOr<State> LoadState(Database& database);
// The same, within the open transaction. REQUIRES: that transaction holds the ledger's lock.
absl::StatusOr<State> LoadTables(Database& database);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_ROWS_LOAD_H_
