#include "placement/claims/allocation_form.h"

#include "placement/values/catalog.h"

namespace berth::placement {
namespace {

constexpr size_t kAmountsComparedMax = 8;  // more are sorted instead of compared in pairs

// True if `asked` has no faults. False if it has faults, or too many amounts for this fast check,
// which runs for every claim.
bool AmountsFit(const ProviderAmounts& asked, bool (*amount_fits)(Amount)) {
  if (asked.amounts.empty() || asked.amounts.size() > kAmountsComparedMax) return false;
  for (size_t i = 0; i < asked.amounts.size(); ++i) {
    const NamedAmount& amount = asked.amounts[i];
    if (!IsUpperName(amount.resource_class) || !amount_fits(amount.amount)) return false;
    for (size_t j = 0; j < i; ++j) {
      if (asked.amounts[j].resource_class == amount.resource_class) return false;
    }
  }
  return true;
}

bool IsAmount(Amount amount) { return amount >= 1 && amount <= kAmountMax; }

}  // namespace

void OwnerFields(Faults& faults, absl::FunctionRef<std::string(absl::string_view)> path,
                 absl::string_view project, absl::string_view user, absl::string_view type) {
  const auto fits = [](absl::string_view text) {
    const int64_t length = CodePoints(text);
    return length >= 1 && length <= kOwnerMax;
  };
  if (!fits(project)) faults.Length(path("project_id"), project, 1, kOwnerMax);
  if (!fits(user)) faults.Length(path("user_id"), user, 1, kOwnerMax);
  if (!IsUpperName(type)) faults.UpperName(path("consumer_type"), type);
}

void AmountFields(Faults& faults, absl::string_view field, const ProviderAmounts& asked,
                  bool (*amount_fits)(Amount), absl::string_view range) {
  const auto fault = [&](absl::string_view reason, const std::string& resource_class,
                         const std::string& why) {
    FaultItem item = {{"provider", asked.provider.ToString()}};
    if (!resource_class.empty()) item["resource_class"] = resource_class;
    faults.Add(reason, std::string(field), why, std::move(item));
  };
  if (asked.amounts.empty()) fault(kInvalidField, "", "must name at least one resource class");
  for (size_t i = 0; i < asked.amounts.size(); ++i) {
    const NamedAmount& amount = asked.amounts[i];
    if (!IsUpperName(amount.resource_class)) {
      fault(kInvalidField, amount.resource_class,
            absl::StrCat("names '", amount.resource_class,
                         "', which is not a valid name of a resource class"));
    }
    if (!amount_fits(amount.amount)) {
      fault(kInvalidField, amount.resource_class,
            absl::StrCat("must be amounts of ", range, ", but has ", amount.amount, " of ",
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

void CountField(Faults& faults, absl::string_view field, size_t count, size_t max) {
  if (count >= 1 && count <= max) return;
  faults.Add(kInvalidField, std::string(field),
             absl::StrCat("must name 1 to ", max, ", but names ", count));
}

void ConsumerListFields(Faults& faults, const std::vector<ConsumerAllocations>& consumers) {
  for (size_t i = 0; i < consumers.size(); ++i) {
    const ConsumerAllocations& consumer = consumers[i];
    OwnerFields(
        faults, [i](absl::string_view field) { return absl::StrCat("consumers[", i, "].", field); },
        consumer.project, consumer.user, consumer.type);
    if (consumer.lease) {
      LeaseField(faults, absl::StrCat("consumers[", i, "].lease"), *consumer.lease);
    }
    if (consumer.allocations.size() > kConsumerProvidersMax) {
      faults.Add(kInvalidField, absl::StrCat("consumers[", i, "].allocations"),
                 absl::StrCat("must name ", kConsumerProvidersMax, " providers at most"));
    }
    for (size_t g = 0; g < consumer.allocations.size(); ++g) {
      if (AmountsFit(consumer.allocations[g], IsAmount)) continue;
      AmountFields(faults, absl::StrCat("consumers[", i, "].allocations[", g, "].resources"),
                   consumer.allocations[g], IsAmount, absl::StrCat("1 to ", kAmountMax));
    }
    if (consumer.allocations.size() > 1) {
      EachOnce<ProviderId>(faults, "provider", absl::StrCat("consumers[", i, "].allocations"),
                           consumer.allocations,
                           [](const ProviderAmounts& group) { return group.provider; });
    }
  }
  if (consumers.size() > 1) {
    EachOnce<ConsumerId>(faults, "consumer", "consumers", consumers,
                         [](const ConsumerAllocations& consumer) { return consumer.consumer; });
  }
}

}  // namespace berth::placement
