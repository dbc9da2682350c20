// Schema: creates the tables of a database, or changes them to those of this release.
//
// The schema is made by numbered steps, the files schema/NNNN_*.sql, which are embedded in the
// binary. The table `ledger_schema` has one row for each step that was done. Steps are never undone.
// A step that is added after a release must be harmless to processes of that release, which go on
// writing while it runs and afterwards.
#ifndef BERTH_PLACEMENT_STORE_SCHEMA_H_
#define BERTH_PLACEMENT_STORE_SCHEMA_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
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

// The advisory lock that whoever writes holds: for a step as well as for a batch. Each database has
// its own; PostgreSQL keeps the locks of different databases apart.
inline constexpr int64_t kLedgerLock = 0x6265727468;  // "berth"

// Does those of `steps` that were not done yet, in one transaction under the ledger's lock. Fails
// with kFailedPrecondition if the database has a step that `steps` do not know, because a newer
// release made it; else as Database::Run. After a failure the database is as before.
absl::Status BringUpToDate(Database& database,
                           const std::vector<SchemaStep>& steps = SchemaSteps());

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_SCHEMA_H_
