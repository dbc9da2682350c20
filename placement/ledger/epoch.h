// Begins a new epoch: the step with which an operator accepts a database that went back in time,
// for example after a restored backup.
#ifndef BERTH_PLACEMENT_LEDGER_EPOCH_H_
#define BERTH_PLACEMENT_LEDGER_EPOCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "placement/state/state.h"
#include "placement/store/database.h"

namespace berth::placement {

// Who begins an epoch, and why. The log keeps both.
struct EpochStart {
  std::string actor;
  std::string request_id;  // empty: none given
  std::string reason;
  Revision expected_head;  // the newest revision of the database, as the operator saw it
};

// Begins a new epoch on `database` and returns its first state. Takes the ledger's lock, loads the
// tables, and appends a log row whose epoch is later than that of the tables and that of `lost`,
// the newest position that this process knows. Command numbers and catalog ids jump, so that no
// number that was given in the lost part of the log is given again.
//
// Fails with kAborted if the newest log row is not the expected one; with kDeadlineExceeded without
// a reason if the connection broke while the row was committed; else as Database::Run and LoadState
// do. Nothing was written unless the result is OK or kDeadlineExceeded.
absl::StatusOr<State> BeginEpoch(Database& database, const Position& lost, const EpochStart& start);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_EPOCH_H_
