// Reads the tables whole: at the start, and where the log does not reach back far enough.
#ifndef BERTH_PLACEMENT_STORE_ROWS_LOAD_H_
#define BERTH_PLACEMENT_STORE_ROWS_LOAD_H_

#include "absl/status/statusor.h"
#include "placement/state/state.h"
#include "placement/store/database.h"

namespace berth::placement {

// The state that the tables hold, at the newest log row, all of one snapshot. Fails as
// Database::Run, or with kDataLoss where rows contradict each other, naming one.
absl::StatusOr<State> LoadState(Database& database);
// The same within the transaction that is open, which must keep others from writing.
absl::StatusOr<State> LoadTables(Database& database);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_ROWS_LOAD_H_
