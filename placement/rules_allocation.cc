#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "placement/catalog.h"
#include "placement/claim_plan.h"
#include "placement/form.h"
#include "placement/rules.h"

namespace berth::placement {
namespace {

constexpr int64_t kOwnerMax = 255;  // of project and user
constexpr size_t kConsumersMax = 1000;
constexpr size_t kProvidersMax = 256;  // of one consumer

// Faults of one consumer's owner and type. `at` is its index in the request.
void OwnerFields(Form& form, size_t at, const ConsumerAllocations& consumer) {
  // Paths are spelled only where something is wrong: this runs for every claim.
  const auto fits = [](absl::string_view text) {
    const int64_t length = CodePoints(text);
    return length >= 1 && length <= kOwnerMax;
  };
  if (!fits(consumer.project)) {
    form.Length(absl::StrCat("consumers[", at, "].project_id"), consumer.project, 1, kOwnerMax);
  }
  if (!fits(consumer.user)) {
    form.Length(absl::StrCat("consumers[", at, "].user_id"), consumer.user, 1, kOwnerMax);
  }
  if (!IsUpperName(consumer.type)) {
    form.UpperName(absl::StrCat("consumers[", at, "].consumer_type"), consumer.type);
  }
}

// Faults of the rows asked of one provider: at least one class, each once, amounts in range.
void AmountFields(Form& form, size_t at, size_t group, const ProviderAmounts& asked) {
  const auto field = [at, group] {
    return absl::StrCat("consumers[", at, "].allocations[", group, "].resources");
  };
  const auto fault = [&](absl::string_view reason, const std::string& resource_class,
                         const std::string& why) {
    FaultItem item = {{"provider", asked.provider.ToString()}};
    if (!resource_class.empty()) item["resource_class"] = resource_class;
    form.Fault(reason, field(), why, std::move(item));
  };
  if (asked.amounts.empty()) fault(kInvalidField, "", "must name at least one class");
  for (size_t i = 0; i < asked.amounts.size(); ++i) {
    const NamedAmount& amount = asked.amounts[i];
    if (!IsUpperName(amount.resource_class)) {
      fault(kInvalidField, amount.resource_class,
            absl::StrCat("has '", amount.resource_class, "', which cannot be a class"));
    }
    if (amount.amount < 1 || amount.amount > kAmountMax) {
      fault(kInvalidField, amount.resource_class,
            absl::StrCat("must be 1 to ", kAmountMax, ", has ", amount.amount, " of ",
                         amount.resource_class));
    }
  }
  const auto by_class = [](const NamedAmount* a, const NamedAmount* b) {
    return a->resource_class < b->resource_class;
  };
  absl::InlinedVector<const NamedAmount*, 8> sorted;
  for (const NamedAmount& amount : asked.amounts) sorted.push_back(&amount);
  std::sort(sorted.begin(), sorted.end(), by_class);
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (by_class(sorted[i - 1], sorted[i])) continue;
    fault(kDuplicateParameter, sorted[i]->resource_class,
          absl::StrCat("names ", sorted[i]->resource_class, " twice"));
  }
}

// Faults of ids that stand twice; `field` names the list.
template <typename IdType, typename Items, typename IdOf>
void EachOnce(Form& form, absl::string_view key, const std::string& field, const Items& items,
              IdOf id_of) {
  absl::InlinedVector<IdType, 8> ids;
  for (const auto& item : items) ids.push_back(id_of(item));
  std::sort(ids.begin(), ids.end());
  for (size_t i = 1; i < ids.size(); ++i) {
    if (ids[i] != ids[i - 1]) continue;
    form.Fault(kDuplicateParameter, field, absl::StrCat("name ", ids[i].ToString(), " twice"),
               {{std::string(key), ids[i].ToString()}});
  }
}

// Stage 2 of P-130: the form (P-114).
absl::Status CheckForm(const SetAllocations& command) {
  Form form;
  if (command.consumers.empty() || command.consumers.size() > kConsumersMax) {
    form.Fault(kInvalidField, "consumers",
               absl::StrCat("must name 1 to ", kConsumersMax, " consumers, names ",
                            command.consumers.size()));
  }
  for (size_t i = 0; i < command.consumers.size(); ++i) {
    const ConsumerAllocations& consumer = command.consumers[i];
    OwnerFields(form, i, consumer);
    if (consumer.allocations.size() > kProvidersMax) {
      form.Fault(kInvalidField, absl::StrCat("consumers[", i, "].allocations"),
                 absl::StrCat("must name ", kProvidersMax, " providers at most"));
    }
    for (size_t g = 0; g < consumer.allocations.size(); ++g) {
      AmountFields(form, i, g, consumer.allocations[g]);
    }
    if (consumer.allocations.size() > 1) {
      EachOnce<ProviderId>(form, "provider", absl::StrCat("consumers[", i, "].allocations"),
                           consumer.allocations,
                           [](const ProviderAmounts& group) { return group.provider; });
    }
  }
  if (command.consumers.size() > 1) {
    EachOnce<ConsumerId>(form, "consumer", "consumers", command.consumers,
                         [](const ConsumerAllocations& consumer) { return consumer.consumer; });
  }
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
  ConsumerPtr consumer = state.FindConsumer(command.consumer);
  if (!consumer) {
    return Refuse(absl::StatusCode::kNotFound, "CONSUMER_NOT_FOUND",
                  absl::StrCat("consumer ", command.consumer.ToString(), " holds nothing"),
                  {{{"consumer", command.consumer.ToString()}}});
  }
  if (command.expected_generation && *command.expected_generation != consumer->generation) {
    return Refuse(
        absl::StatusCode::kAborted, "CONSUMER_GENERATION_CONFLICT",
        absl::StrCat("consumer ", command.consumer.ToString(), " is at generation ",
                     consumer->generation.value, ", not ", command.expected_generation->value,
                     ": read it again and decide again"),
        {{{"consumer", command.consumer.ToString()},
          {"expected_generation", absl::StrCat(command.expected_generation->value)},
          {"actual_generation", absl::StrCat(consumer->generation.value)}}});
  }
  ClaimPlan plan(state, {Holder{command.consumer, std::move(consumer), nullptr}});
  if (absl::Status status = plan.FindProviders(); !status.ok()) return status;
  return plan.MakeOutcome(context);
}

}  // namespace berth::placement
