#include <memory>
#include <utility>
#include <vector>

#include "placement/claim_plan.h"
#include "placement/claims.h"
#include "placement/guard.h"
#include "placement/lease.h"

namespace berth::placement {
namespace {

// Allocation rows that one command takes back, unless the first consumer alone has more.
constexpr size_t kRowsAtOnce = 500;

}  // namespace

// Form; CONSUMER_NOT_FOUND; the generation, where one is given. Moves the consumer's generation and
// nothing of its providers.
absl::StatusOr<Outcome> Decide(const State& state, const SetLease& command,
                               const RuleContext& context) {
  Form form;
  if (command.lease) LeaseField(form, "lease", *command.lease);
  if (absl::Status status = form.status(); !status.ok()) return status;
  const absl::StatusOr<ConsumerPtr> before =
      RequireConsumer(state, command.consumer, command.expected_generation);
  if (!before.ok()) return before.status();
  auto consumer = std::make_shared<Consumer>(**before);
  consumer->generation = consumer->generation.Next();
  consumer->updated_at = context.now;
  consumer->lease_expires_at.reset();
  if (command.lease) consumer->lease_expires_at = LeaseEnd(context.now, *command.lease);
  Outcome outcome;
  outcome.result.consumers.emplace_back(consumer->id, consumer->generation);
  outcome.changes.push_back(ConsumerPut{std::move(consumer)});
  return outcome;
}

// Never refused. What is not yet due, or was renewed or confirmed before, stays.
absl::StatusOr<Outcome> Decide(const State& state, const ExpireLeases&,
                               const RuleContext& context) {
  std::vector<Holder> holders;
  size_t rows = 0;
  state.leases().ForEach([&](const std::pair<absl::Time, ConsumerId>& lease, std::monostate) {
    if (lease.first > context.now || (rows >= kRowsAtOnce)) return false;
    ConsumerPtr consumer = state.FindConsumer(lease.second);
    rows += consumer->allocations.size();
    holders.push_back({lease.second, std::move(consumer), nullptr});
    return true;
  });
  if (holders.empty()) return Outcome();
  ClaimPlan plan(state, std::move(holders));
  if (absl::Status status = plan.FindProviders(); !status.ok()) return status;
  return plan.MakeOutcome(context);
}

}  // namespace berth::placement
