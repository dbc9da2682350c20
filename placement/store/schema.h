// Schema: brings a database's tables up to this release, forward only.
//
// Steps are numbered from 1 and embedded in the binary; the table `ledger_schema` names those that
// were done. A step must be safe while the previous release runs.
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

// The steps of this release, by rising version.
const std::vector<SchemaStep>& SchemaSteps();

// The advisory lock under which everything is written, steps and batches alike. Of one database:
// PostgreSQL keeps those of different databases apart.
inline constexpr int64_t kLedgerLock = 0x6265727468;  // "berth"

// Does the steps that are missing, under the ledger's lock, all or none. Fails with
// kFailedPrecondition when the database is of a newer release, else as Database::Run.
absl::Status BringUpToDate(Database& database);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_SCHEMA_H_
