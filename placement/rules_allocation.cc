#include <utility>
#include <vector>

#include "placement/allocation_form.h"
#include "placement/claim_plan.h"
#include "placement/claims.h"
#include "placement/form.h"
#include "placement/guard.h"

namespace berth::placement {
namespace {

// Stage 2 of P-130: the form (P-114).
absl::Status CheckForm(const SetAllocations& command) {
  Form form;
  CountField(form, "consumers", command.consumers.size(), kConsumersMax);
  ConsumerListFields(form, command.consumers);
  return form.status();
}

}  // namespace

// Form; CONSUMER_GENERATION_CONFLICT; PROVIDER_NOT_FOUND; RESOURCE_CLASS_NOT_FOUND; NO_INVENTORY;
// UNIT_CONSTRAINT_VIOLATED; CAPACITY_EXCEEDED: stage by stage, with all violations of the stage
// that fails (P-130). Replaces everything that the consumers hold (P-117), all or none (P-118).
absl::StatusOr<Outcome> Decide(const State& state, const SetAllocations& command,
                               const RuleContext& context) {
  if (absl::Status status = CheckForm(command); !status.ok()) return status;
  std::vector<Holder> holders;
  holders.reserve(command.consumers.size());
  for (const ConsumerAllocations& consumer : command.consumers) {
    holders.push_back({consumer.consumer, state.FindConsumer(consumer.consumer), &consumer});
  }
  ClaimPlan plan(state, std::move(holders));
  if (absl::Status status = plan.CheckConsumers(); !status.ok()) return status;
  if (absl::Status status = plan.FindProviders(); !status.ok()) return status;
  if (absl::Status status = plan.FindClasses(); !status.ok()) return status;
  if (absl::Status status = plan.FindInventories(); !status.ok()) return status;
  if (absl::Status status = plan.CheckUnits(command.keep_unchanged_rows); !status.ok()) {
    return status;
  }
  if (absl::Status status = plan.CheckRoom(); !status.ok()) return status;
  return plan.MakeOutcome(context);
}

// CONSUMER_NOT_FOUND; the generation, where one is given (P-139).
absl::StatusOr<Outcome> Decide(const State& state, const DeleteAllocations& command,
                               const RuleContext& context) {
  absl::StatusOr<ConsumerPtr> consumer =
      RequireConsumer(state, command.consumer, command.expected_generation);
  if (!consumer.ok()) return consumer.status();
  ClaimPlan plan(state, {Holder{command.consumer, *std::move(consumer), nullptr}});
  if (absl::Status status = plan.FindProviders(); !status.ok()) return status;
  return plan.MakeOutcome(context);
}

}  // namespace berth::placement
