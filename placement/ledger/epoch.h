// Begins a new epoch. With this step an operator accepts a database that went back in time, for
// example after a backup was restored.
#ifndef BERTH_PLACEMENT_LEDGER_EPOCH_H_
#define BERTH_PLACEMENT_LEDGER_EPOCH_H_

#include <memory>
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
  std::shared_ptr<const std::string> method = nullptr;  // as in Command
};

// Begins a new epoch on `database` and returns its first state. Takes the ledger's lock, loads the
// tables, and appends a log row. The new epoch is later than the epoch in the database and the
// epoch of `lost`, the newest position that this process knows. The counter of commands and the
// catalog's next ids are raised far enough that no number from the lost part of the log is used
// again.
//
// Fails
// - with kAborted, if the newest log row is not the expected one;
// - with kDeadlineExceeded without a reason, if the connection broke during the commit, so that
//   nobody knows whether the epoch has begun;
// - else as Database::Run and LoadState do. After any failure but kDeadlineExceeded, nothing was
//   written.
absl::StatusOr<State> BeginEpoch(Database& database, const Position& lost, const EpochStart& start);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_EPOCH_H_
