#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/claims/allocation_form.h"
#include "placement/claims/claims.h"
#include "placement/claims/plan.h"
#include "placement/state/lookup.h"
#include "placement/values/faults.h"

namespace berth::placement {
namespace {

// The checks of the command that need no state (P-114).
absl::Status CheckForm(const SetAllocations& command) {
  Faults faults;
  CountField(faults, "consumers", command.consumers.size(), kConsumersMax);
  ConsumerListFields(faults, command.consumers);
  return faults.status();
}

}  // namespace

// Replaces all that the consumers hold (P-117), for all consumers or for none (P-118). Refuses, in
// this order: a malformed command; CONSUMER_GENERATION_CONFLICT; PROVIDER_NOT_FOUND;
// RESOURCE_CLASS_NOT_FOUND; NO_INVENTORY; UNIT_CONSTRAINT_VIOLATED; CAPACITY_EXCEEDED. Each refusal
// lists everything that the failing check found (P-130).
absl::StatusOr<Outcome> Decide(const State& state, const SetAllocations& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  std::vector<Holder> holders;
  holders.reserve(command.consumers.size());
  for (const ConsumerAllocations& consumer : command.consumers) {
    holders.push_back({consumer.consumer, state.FindConsumer(consumer.consumer), &consumer});
  }
  ClaimPlan plan(state, std::move(holders));
  BERTH_RETURN_IF_ERROR(plan.CheckConsumers());
  BERTH_RETURN_IF_ERROR(plan.FindProviders());
  BERTH_RETURN_IF_ERROR(plan.FindClasses());
  BERTH_RETURN_IF_ERROR(plan.FindInventories());
  BERTH_RETURN_IF_ERROR(plan.CheckUnits(command.keep_unchanged_rows));
  BERTH_RETURN_IF_ERROR(plan.CheckRoom());
  return plan.MakeOutcome(context);
}

// Refuses, in this order: CONSUMER_NOT_FOUND; CONSUMER_GENERATION_CONFLICT, if a generation is
// given (P-139).
absl::StatusOr<Outcome> Decide(const State& state, const DeleteAllocations& command,
                               const RuleContext& context) {
  BERTH_ASSIGN_OR_RETURN(ConsumerPtr consumer,
                         RequireConsumer(state, command.consumer, command.expected_generation));
  ClaimPlan plan(state, {Holder{command.consumer, std::move(consumer), nullptr}});
  BERTH_RETURN_IF_ERROR(plan.FindProviders());
  return plan.MakeOutcome(context);
}

namespace {

bool IsAdjustment(Amount amount) {
  return amount >= -kAmountMax && amount <= kAmountMax && amount != 0;
}

std::string FieldOf(size_t at) { return absl::StrCat("adjustments[", at, "]"); }

absl::Status CheckForm(const AdjustAllocations& command) {
  Faults faults;
  CountField(faults, "adjustments", command.adjustments.size(), kConsumerProvidersMax);
  for (size_t i = 0; i < command.adjustments.size(); ++i) {
    AmountFields(faults, FieldOf(i) + ".amounts", command.adjustments[i], IsAdjustment,
                 absl::StrCat(-kAmountMax, " to ", kAmountMax, " and not 0"));
  }
  EachOnce<ProviderId>(faults, "provider", "adjustments", command.adjustments,
                       [](const ProviderAmounts& adjustment) { return adjustment.provider; });
  return faults.status();
}

// Fails with PROVIDER_NOT_FOUND, which names all unknown providers, then with
// RESOURCE_CLASS_NOT_FOUND, which names all unknown classes. It does not matter whether the command
// adds amounts or takes them away.
absl::Status CheckNames(const State& state, const AdjustAllocations& command) {
  std::vector<FaultItem> items;
  std::string message;
  for (size_t i = 0; i < command.adjustments.size(); ++i) {
    const ProviderId id = command.adjustments[i].provider;
    if (state.FindProvider(id)) continue;
    if (items.empty()) message = absl::StrCat("there is no provider ", id.ToString());
    items.push_back({{"provider", id.ToString()}, {"field", FieldOf(i) + ".provider_uuid"}});
  }
  BERTH_RETURN_IF_ERROR(RefuseAll(absl::StatusCode::kNotFound, "PROVIDER_NOT_FOUND",
                                  std::exchange(message, ""), items));
  std::set<std::string> named;
  for (size_t i = 0; i < command.adjustments.size(); ++i) {
    for (const NamedAmount& amount : command.adjustments[i].amounts) {
      const std::string& name = amount.resource_class;
      if (state.catalog().classes.Find(name) || !named.insert(name).second) continue;
      if (items.empty()) message = absl::StrCat("there is no resource class ", name);
      items.push_back({{"resource_class", name}, {"field", FieldOf(i) + ".amounts"}});
    }
  }
  return RefuseAll(absl::StatusCode::kNotFound, "RESOURCE_CLASS_NOT_FOUND", std::move(message),
                   items);
}

using Rows = std::map<std::pair<ProviderId, ClassId>, Amount>;

// The amounts that the consumer holds after the adjustments, including those that become 0. Fails
// with NEGATIVE_ALLOCATION, which names each adjustment that takes away more than the consumer
// holds. REQUIRES: all names are known.
absl::StatusOr<Rows> Adjusted(const State& state, const Consumer& consumer,
                              const AdjustAllocations& command) {
  Rows rows;
  for (const Allocation& row : consumer.allocations) {
    rows[{row.provider, row.resource_class}] = row.amount;
  }
  std::vector<FaultItem> items;
  std::string message;
  for (size_t i = 0; i < command.adjustments.size(); ++i) {
    const ProviderAmounts& adjustment = command.adjustments[i];
    for (const NamedAmount& change : adjustment.amounts) {
      Amount& amount =
          rows[{adjustment.provider, *state.catalog().classes.Find(change.resource_class)}];
      const Amount held = amount;
      amount += change.amount;
      if (amount >= 0) continue;
      if (items.empty()) {
        message = absl::StrCat("consumer ", consumer.id.ToString(), " holds ", held, " ",
                               change.resource_class, " of provider ",
                               adjustment.provider.ToString(), ", which is less than the ",
                               -change.amount, " that the adjustment takes away");
      }
      items.push_back({{"consumer", consumer.id.ToString()},
                       {"provider", adjustment.provider.ToString()},
                       {"resource_class", change.resource_class},
                       {"requested", absl::StrCat(change.amount)},
                       {"used", absl::StrCat(held)},
                       {"field", FieldOf(i) + ".amounts"}});
    }
  }
  BERTH_RETURN_IF_ERROR(RefuseAll(absl::StatusCode::kFailedPrecondition, "NEGATIVE_ALLOCATION",
                                  std::move(message), items));
  return rows;
}

// The write after which the consumer holds `rows`. Fails with INVALID_FIELD if `rows` name more
// providers than one consumer may use.
absl::StatusOr<ConsumerAllocations> WriteOf(const State& state, const Consumer& consumer,
                                            const Rows& rows) {
  ConsumerAllocations wanted{consumer.id,          consumer.generation,  consumer.owner->project,
                             consumer.owner->user, consumer.owner->type, {}};
  for (const auto& [key, amount] : rows) {
    if (amount == 0) continue;
    if (wanted.allocations.empty() || wanted.allocations.back().provider != key.first) {
      wanted.allocations.push_back({key.first, {}});
    }
    wanted.allocations.back().amounts.push_back(
        {state.catalog().classes.NameOf(key.second), amount});
  }
  if (wanted.allocations.size() > kConsumerProvidersMax) {
    Faults faults;
    faults.Add("INVALID_FIELD", "adjustments",
               absl::StrCat("must leave the consumer with ", kConsumerProvidersMax,
                            " providers at most, but leaves ", wanted.allocations.size()));
    return faults.status();
  }
  return wanted;
}

absl::Status CheckForm(const ReleaseConsumers& command) {
  Faults faults;
  CountField(faults, "consumers", command.consumers.size(), kConsumersMax);
  EachOnce<ConsumerId>(faults, "consumer", "consumers", command.consumers,
                       [](const DeleteAllocations& release) { return release.consumer; });
  return faults.status();
}

}  // namespace

// Refuses, in this order: a malformed command; CONSUMER_NOT_FOUND; CONSUMER_GENERATION_CONFLICT, if
// a generation is given; PROVIDER_NOT_FOUND; RESOURCE_CLASS_NOT_FOUND; NEGATIVE_ALLOCATION;
// INVALID_FIELD if the consumer would hold something on too many providers; NO_INVENTORY;
// UNIT_CONSTRAINT_VIOLATED; CAPACITY_EXCEEDED. Allocations that are not adjusted stay and are not
// checked. A provider of which nothing changes keeps its allocation generation.
absl::StatusOr<Outcome> Decide(const State& state, const AdjustAllocations& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  BERTH_ASSIGN_OR_RETURN(ConsumerPtr consumer,
                         RequireConsumer(state, command.consumer, command.expected_generation));
  BERTH_RETURN_IF_ERROR(CheckNames(state, command));
  BERTH_ASSIGN_OR_RETURN(const Rows rows, Adjusted(state, *consumer, command));
  BERTH_ASSIGN_OR_RETURN(const ConsumerAllocations wanted, WriteOf(state, *consumer, rows));
  return DecidePlan(state, {Holder{command.consumer, std::move(consumer), &wanted, true}}, context);
}

// Refuses, in this order: a malformed command; CONSUMER_GENERATION_CONFLICT, which names every
// consumer whose generation is not the given one. Consumers that hold nothing are skipped.
absl::StatusOr<Outcome> Decide(const State& state, const ReleaseConsumers& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  std::vector<Holder> holders;
  std::vector<ConsumerId> absent;
  std::vector<FaultItem> items;
  std::string message;
  for (size_t i = 0; i < command.consumers.size(); ++i) {
    const DeleteAllocations& release = command.consumers[i];
    ConsumerPtr consumer = state.FindConsumer(release.consumer);
    if (!consumer) {
      absent.push_back(release.consumer);
      continue;
    }
    if (release.expected_generation) {
      CompareConsumer(
          release.consumer, consumer, release.expected_generation,
          [i] { return absl::StrCat("consumers[", i, "].expected_generation"); }, items, message);
    }
    holders.push_back({release.consumer, std::move(consumer), nullptr});
  }
  BERTH_RETURN_IF_ERROR(RefuseAll(absl::StatusCode::kAborted, "CONSUMER_GENERATION_CONFLICT",
                                  std::move(message), items));
  Outcome outcome;
  if (!holders.empty()) {
    ClaimPlan plan(state, std::move(holders));
    BERTH_RETURN_IF_ERROR(plan.FindProviders());
    outcome = plan.MakeOutcome(context);
  }
  outcome.result.absent = std::move(absent);
  return outcome;
}

namespace {

// One ExpireLeases releases at most this many allocations, but always at least one consumer.
constexpr size_t kReleasedAtOnce = 500;

}  // namespace

// Raises the generation of the consumer; does not change its providers. Refuses, in this order: a
// malformed command; CONSUMER_NOT_FOUND; CONSUMER_GENERATION_CONFLICT, if a generation is given.
absl::StatusOr<Outcome> Decide(const State& state, const SetLease& command,
                               const RuleContext& context) {
  Faults faults;
  if (command.lease) LeaseField(faults, "lease", *command.lease);
  BERTH_RETURN_IF_ERROR(faults.status());
  BERTH_ASSIGN_OR_RETURN(const ConsumerPtr before,
                         RequireConsumer(state, command.consumer, command.expected_generation));
  auto consumer = std::make_shared<Consumer>(*before);
  consumer->generation = consumer->generation.Next();
  consumer->updated_at = context.now;
  consumer->lease_expires_at.reset();
  if (command.lease) consumer->lease_expires_at = LeaseEnd(context.now, *command.lease);
  Outcome outcome;
  outcome.result.consumers.emplace_back(consumer->id, consumer->generation);
  outcome.changes.push_back(ConsumerPut{std::move(consumer)});
  return outcome;
}

// Never refuses. Releases only leases that have ended when the command is decided: a lease may have
// been renewed while the command waited.
absl::StatusOr<Outcome> Decide(const State& state, const ExpireLeases&,
                               const RuleContext& context) {
  std::vector<Holder> holders;
  size_t rows = 0;
  state.leases().ForEach([&](const std::pair<absl::Time, ConsumerId>& lease, std::monostate) {
    if (lease.first > context.now || (rows >= kReleasedAtOnce)) return false;
    ConsumerPtr consumer = state.FindConsumer(lease.second);
    rows += consumer->allocations.size();
    holders.push_back({lease.second, std::move(consumer), nullptr});
    return true;
  });
  if (holders.empty()) return Outcome();
  ClaimPlan plan(state, std::move(holders));
  BERTH_RETURN_IF_ERROR(plan.FindProviders());
  return plan.MakeOutcome(context);
}

}  // namespace berth::placement
