// The form of an import: what each record must look like before the state is asked, and which may
// not stand together. Pure.
#ifndef BERTH_PLACEMENT_RULES_IMPORT_FORM_H_
#define BERTH_PLACEMENT_RULES_IMPORT_FORM_H_

#include "absl/status/status.h"
#include "placement/commands/command.h"

namespace berth::placement {

// Of one import: it holds the ledger's lock while it is decided and written.
inline constexpr int64_t kImportedMax = 500'000;

// Faults of the first record that has any, those of inventories' numbers (INVALID_INVENTORY) last.
// A parent that comes after its child is one, and whatever stands twice.
absl::Status CheckImportForm(const ImportLedger& command);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_IMPORT_FORM_H_
