// The checks of an import that need no state: checks of each record by itself, and checks that no
// two records contradict each other. Pure.
#ifndef BERTH_PLACEMENT_RULES_IMPORT_FORM_H_
#define BERTH_PLACEMENT_RULES_IMPORT_FORM_H_

#include "absl/status/status.h"
#include "placement/commands/command.h"

namespace berth::placement {

// The maximum number of records in one import. The limit exists because the ledger's lock is held
// while the import is decided and written.
inline constexpr int64_t kImportedMax = 500'000;

// INVALID_ARGUMENT with the faults of the first record that has any. A parent that comes after its
// child is a fault, and so is an entity that occurs twice. INVALID_INVENTORY is returned only if no
// record has another fault.
absl::Status CheckImportForm(const ImportLedger& command);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_IMPORT_FORM_H_
