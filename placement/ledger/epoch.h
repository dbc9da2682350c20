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

// The call by which an operator begins an epoch. The log row of the epoch keeps all fields but
// expected_head.
struct EpochStart {
  std::string actor;
  std::string request_id;  // empty: none given
  std::string reason;
  Revision expected_head;  // the newest revision of the database, as the operator saw it
  std::shared_ptr<const std::string> method = nullptr;  // as in Command
};

// Begins a new epoch in `database` and returns the first state of the epoch. Takes the ledger's
// lock, loads the tables, and appends a log row without changes. `lost`: the position that the
// database lost, as far as this process knows. The new epoch is later than that of `lost` and that
// of the newest log row. The counter of commands and the catalog's next ids are raised so far above
// those of `lost` and of that row that no id or command number of the lost part of the log is used
// again. REQUIRES: the schema is that of this release, and no transaction is open.
//
// Fails
// - with kAborted / CONCURRENT_UPDATE, if the newest log row does not have the revision
//   expected_head;
// - with kDeadlineExceeded without a reason, if the connection broke during the commit, so that
//   nobody knows whether the epoch has begun;
// - else as Database::Run and LoadState do. After any failure but kDeadlineExceeded, the tables are
//   as before.
absl::StatusOr<State> BeginEpoch(Database& database, const Position& lost, const EpochStart& start);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_EPOCH_H_
