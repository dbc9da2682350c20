// Schema: creates the tables of a database, or changes existing tables to those of this release.
//
// The schema is made by numbered steps. These are the files schema/NNNN_*.sql, which are embedded
// in the binary. The table `ledger_schema` has one row for each step that was done. Steps are never
// undone. Processes of an older release go on writing while a new step runs and afterwards. So a
// new step must not harm the processes of older releases.
#ifndef BERTH_PLACEMENT_STORE_SCHEMA_H_
#define BERTH_PLACEMENT_STORE_SCHEMA_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "placement/store/database.h"

namespace berth::placement {

struct SchemaStep {
  int version = 0;
  absl::string_view name;
  absl::string_view sql;
};

// The steps of this release, ordered by version; versions count from 1.
const std::vector<SchemaStep>& SchemaSteps();

// The advisory lock that a process holds while it writes a batch or does a step of the schema. Each
// database has a lock of its own; PostgreSQL keeps the locks of different databases apart.
inline constexpr int64_t kLedgerLock = 0x6265727468;  // "berth"

// The number of the last step that was done; 0 if there is no table of placement. Fails with
// kFailedPrecondition if this is none of `steps`, because a newer release has done it; else as
// Database::Run.
absl::StatusOr<int64_t> ReadSchemaVersion(Database& database,
                                          const std::vector<SchemaStep>& steps = SchemaSteps());

// Runs those of `steps` that the database lacks, in one transaction under the ledger's lock. Fails
// with kFailedPrecondition if a newer release has done a step that is not in `steps`. All other
// failures are those of Database::Run; if the session's role lacks a privilege, the message says
// what an operator has to do. After a failure the database is as before.
absl::Status BringUpToDate(Database& database,
                           const std::vector<SchemaStep>& steps = SchemaSteps());

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_SCHEMA_H_
