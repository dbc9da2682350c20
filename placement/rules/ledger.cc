// The rules about the ledger as a whole: the format of its log, and imports.

#include "absl/strings/str_cat.h"
#include "placement/rules/import_form.h"
#include "placement/rules/import_plan.h"
#include "placement/rules/rules.h"
#include "placement/values/refusal.h"

namespace berth::placement {

// Refuses, in this order: INVALID_FIELD for a number less than 1, which no format has;
// WRONG_LEDGER_STATE for a format that is lower than the present one or that this release does not
// know.
absl::StatusOr<Outcome> Decide(const State& state, const SetFormat& command,
                               const RuleContext& context) {
  const int present = state.position().format;
  if (command.format < 1) {
    return Refuse(absl::StatusCode::kInvalidArgument, "INVALID_FIELD", "format must be at least 1",
                  {{{"field", "format"}}});
  }
  if (command.format < present || command.format > context.format_max) {
    return Refuse(
        absl::StatusCode::kFailedPrecondition, "WRONG_LEDGER_STATE",
        absl::StrCat("the log is in format ", present, ", and this release knows formats up to ",
                     context.format_max, ": the wanted format must be between them"));
  }
  Outcome outcome;
  if (command.format > present) outcome.changes.push_back(FormatRaised{command.format});
  return outcome;
}

// Refuses, in this order: a malformed command; WRONG_LEDGER_STATE; the refusals of
// ImportPlan::Settle. INVALID_INVENTORY is the last refusal of a malformed command. Imported
// entities get new generations (P-5).
absl::StatusOr<Outcome> Decide(const State& state, const ImportLedger& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckImportForm(command));
  ImportPlan plan(state, command, context);
  BERTH_RETURN_IF_ERROR(plan.CheckEmpty());
  BERTH_RETURN_IF_ERROR(plan.Settle());
  return plan.MakeOutcome();
}

}  // namespace berth::placement
