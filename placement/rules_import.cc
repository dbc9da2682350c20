#include "placement/import_form.h"
#include "placement/import_plan.h"
#include "placement/rules.h"

namespace berth::placement {

// Form, INVALID_INVENTORY last; WRONG_LEDGER_STATE; then stage by stage as ImportPlan::Settle
// refuses. What an import brings begins with generations of its own (P-5), and like every command
// it does all of it or nothing.
absl::StatusOr<Outcome> Decide(const State& state, const ImportLedger& command,
                               const RuleContext& context) {
  if (absl::Status status = CheckImportForm(command); !status.ok()) return status;
  ImportPlan plan(state, command, context);
  if (absl::Status status = plan.CheckEmpty(); !status.ok()) return status;
  if (absl::Status status = plan.Settle(); !status.ok()) return status;
  return plan.MakeOutcome();
}

}  // namespace berth::placement
