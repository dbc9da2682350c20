// Self-check: compares the state in memory, the tables and the log of one ledger.
//
// The self-check uses its own connection and its own SQL in one REPEATABLE READ snapshot, and
// shares no code with the writer, so that it finds errors of the writer. It is slow, and meant for
// operators and tests. May be called from any thread.
#ifndef BERTH_PLACEMENT_LEDGER_SELF_CHECK_H_
#define BERTH_PLACEMENT_LEDGER_SELF_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "placement/ledger/ledger.h"
#include "placement/store/database_watch.h"

namespace berth::placement {

struct SelfCheckReport {
  Revision revision;
  int64_t providers = 0, consumers = 0, log_rows = 0;  // how many were compared
  std::vector<std::string> findings;  // in words, 100 at most; empty: no difference
};

// Compares at the newest committed revision:
//   - the usage of each provider with the sum of what consumers hold, with its capacity and with
//     its over-committed flag
//   - each row of the tables with the state in memory
//   - parents, names and references within the tables
//   - the revisions and batch ids of the log, which must have no gap
// Fails with kUnavailable if the database cannot be read, or if no published state has the revision
// of the tables.
// If `watch` is not null, the connection is added to it, so that it can end a call that hangs.
absl::StatusOr<SelfCheckReport> SelfCheck(Ledger& ledger, const std::string& database_url,
                                          DatabaseWatch* watch = nullptr);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_SELF_CHECK_H_
