// Self-check: do memory, tables and log tell the same story?
//
// Reads the tables with SQL of its own, over a connection of its own, in one REPEATABLE READ
// snapshot, and shares no code with what wrote them. Slow; for operators and tests.
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
  int64_t providers = 0, consumers = 0, log_rows = 0;  // that were compared
  std::vector<std::string> findings;                   // in words, 100 at the most; empty: clean
};

// Compares, at the newest committed revision: each provider's used with the sum of the consumers'
// arrays; used with capacity and the over-committed flag; every row with the state in memory;
// parents, names and references; consumers without rows; the log's revisions and batch ids for
// gaps. kUnavailable where the database or a state at that revision could not be had.
// `watch`, if any, watches the connection.
absl::StatusOr<SelfCheckReport> SelfCheck(Ledger& ledger, const std::string& database_url,
                                          DatabaseWatch* watch = nullptr);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_SELF_CHECK_H_
