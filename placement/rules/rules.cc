#include "placement/rules/rules.h"

#include <type_traits>
#include <variant>

#include "placement/claims/project_limit.h"
#include "placement/ground/check.h"
#include "placement/ground/status_macros.h"

namespace berth::placement {

absl::StatusOr<Outcome> Decide(const State& state, const Command& command,
                               const RuleContext& context) {
  if (command.projects != nullptr) {
    BERTH_RETURN_IF_ERROR(CheckProjects(state, *command.projects, command.body));
  }
  return std::visit(
      [&](const auto& body) -> absl::StatusOr<Outcome> {
        if constexpr (std::is_same_v<std::decay_t<decltype(body)>, FindRequest>) {
          // The ledger itself looks up the id of a FindRequest. The rules get the command only if
          // the id was not found and is to be cancelled.
          BERTH_CHECK(body.cancel_if_absent);
          return Outcome();
        } else {
          return Decide(state, body, context);
        }
      },
      command.body);
}

}  // namespace berth::placement
