#include "placement/rules/rules.h"

#include <type_traits>
#include <variant>

#include "placement/claims/group_check.h"
#include "placement/claims/project_limit.h"
#include "placement/ground/check.h"
#include "placement/ground/status_macros.h"

namespace berth::placement {
namespace {

absl::StatusOr<Outcome> DecideBody(const State& state, const CommandBody& body,
                                   const RuleContext& context) {
  return std::visit(
      [&](const auto& each) -> absl::StatusOr<Outcome> {
        if constexpr (std::is_same_v<std::decay_t<decltype(each)>, FindRequest>) {
          // The ledger itself looks up the id of a FindRequest. The rules get the command only if
          // the id was not found and is to be cancelled.
          BERTH_CHECK(each.cancel_if_absent);
          return Outcome();
        } else {
          return Decide(state, each, context);
        }
      },
      body);
}

}  // namespace

bool OnlyValidates(const CommandBody& body) {
  const auto* reshape = std::get_if<Reshape>(&body);
  const auto* topology = std::get_if<ApplyTopology>(&body);
  const auto* import = std::get_if<ImportLedger>(&body);
  return (reshape != nullptr && reshape->validate_only) ||
         (topology != nullptr && topology->validate_only) ||
         (import != nullptr && import->validate_only);
}

absl::StatusOr<Outcome> Decide(const State& state, const Command& command,
                               const RuleContext& context) {
  if (command.projects != nullptr) {
    BERTH_RETURN_IF_ERROR(CheckProjects(state, *command.projects, command.body));
  }
  BERTH_ASSIGN_OR_RETURN(Outcome outcome, DecideBody(state, command.body, context));
  if (ObeysServerGroups(command.body)) {
    BERTH_RETURN_IF_ERROR(CheckServerGroups(state, outcome.changes));
  }
  if (OnlyValidates(command.body)) outcome.changes.clear();
  return outcome;
}

}  // namespace berth::placement
