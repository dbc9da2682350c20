// Self-check: compares the state in memory, the tables and the log of one ledger.
//
// The self-check reads the database in one REPEATABLE READ snapshot, with a connection and SQL of
// its own. It does not use the code that writes and loads the tables, so that it can find errors of
// that code. It is slow, and meant for operators and tests. May be called from any thread.
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
  int64_t providers = 0, consumers = 0, log_rows = 0;  // how many the tables have
  std::vector<std::string> findings;  // in words, 100 at most; empty: no fault was found
};

// Checks, at the newest revision that the database shows:
//   - the tables alone (table_rules.h): for example the use of each provider against the sum of
//     what consumers hold, and the log, which must have no gap
//   - the entities in the tables against those in memory, with most of their fields
//   - the newest log row against the batch and the number of commands in memory
//   - the records in memory alone (FaultyRecords)
// Fails with kUnavailable if the database cannot be read, or if this process does not publish the
// revision of the tables soon. If `watch` is not null, adds the connection to `watch`.
absl::StatusOr<SelfCheckReport> SelfCheck(Ledger& ledger, const std::string& database_url,
                                          DatabaseWatch* watch = nullptr);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_SELF_CHECK_H_
