// Checks of an import that need no state: each record by itself, and records that contradict each
// other. Pure.
#ifndef BERTH_PLACEMENT_RULES_IMPORT_FORM_H_
#define BERTH_PLACEMENT_RULES_IMPORT_FORM_H_

#include "absl/status/status.h"
#include "placement/commands/command.h"

namespace berth::placement {

// The most records of one import, which holds the ledger's lock while it is decided and written.
inline constexpr int64_t kImportedMax = 500'000;

// The faults of the first record that has any. It is a fault, too, if a parent comes after its
// child, or if an entity occurs twice. INVALID_INVENTORY comes only if no record has another fault.
absl::Status CheckImportForm(const ImportLedger& command);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_IMPORT_FORM_H_
