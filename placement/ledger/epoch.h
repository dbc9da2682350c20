// Begins a new epoch. With this step an operator accepts a database that went back in time, for
// example after a backup was restored.
#ifndef BERTH_PLACEMENT_LEDGER_EPOCH_H_
#define BERTH_PLACEMENT_LEDGER_EPOCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "placement/state/state.h"
#include "placement/store/database.h"

namespace berth::placement {

// Who begins an epoch, and the reason that the operator gives. The log keeps both.
struct EpochStart {
  std::string actor;
  std::string request_id;  // empty: none given
  std::string reason;
  Revision expected_head;  // the newest revision of the database, as the operator saw it
};

// Begins a new epoch on `database` and returns the first state of the epoch. Takes the ledger's
// lock, loads the tables, and appends a log row. The epoch of that row is later than the epoch of
// the tables and than that of `lost`, the newest position that this process knows. Command numbers
// and catalog ids jump, so that no number of the lost part of the log is given out again.
//
// Fails
// - with kAborted, if the newest log row is not the expected one;
// - with kDeadlineExceeded without a reason, if the connection broke during the commit;
// - else as Database::Run and LoadState do.
// Nothing was written unless the result is OK or kDeadlineExceeded.
absl::StatusOr<State> BeginEpoch(Database& database, const Position& lost, const EpochStart& start);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_EPOCH_H_
