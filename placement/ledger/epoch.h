// Epochs: what an operator does when the database went back in time.
#ifndef BERTH_PLACEMENT_LEDGER_EPOCH_H_
#define BERTH_PLACEMENT_LEDGER_EPOCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "placement/state/state.h"
#include "placement/store/database.h"

namespace berth::placement {

// Who begins an epoch and why; the log keeps it.
struct EpochStart {
  std::string actor;
  std::string request_id;  // empty: none given
  std::string reason;
  Revision expected_head;
};

// Begins a new epoch over `database`: takes the ledger's lock and the tables as they are for the
// truth, and appends a log row of an epoch later than the tables' and that of `last_good`. Command
// numbers and catalog ids jump, so that nothing of the lost future is met again. Returns the state.
// kAborted where the newest log row is not the expected one; else as Database::Run and LoadState.
absl::StatusOr<State> BeginEpoch(Database& database, const State& last_good,
                                 const EpochStart& start);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_EPOCH_H_
