// The methods of ReportPlan for a report that also moves allocations (T-209).
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/claims/plan.h"
#include "placement/rules/report_plan.h"
#include "placement/rules/reshape_plan.h"
#include "placement/state/lookup.h"

namespace berth::placement {
namespace {

absl::Status DeniedHolding(const ReportedHolding& holding, const std::string& message) {
  return Refuse(absl::StatusCode::kPermissionDenied, "POLICY_DENIED",
                absl::StrCat("consumer ", holding.consumer.ToString(), " ", message),
                {{{"consumer", holding.consumer.ToString()}, {"field", "allocations"}}});
}

// `refusal` of what consumers shall hold. If the tracker's limits have cut an inventory of the
// report, they may have caused it, and no settings of the host help: then its first item says so.
absl::Status WithLimits(const absl::Status& refusal, const std::vector<LimitedPart>& limited) {
  const bool is_cut = std::any_of(limited.begin(), limited.end(),
                                  [](const LimitedPart& part) { return part.trait.empty(); });
  std::optional<Refusal> told = RefusalOf(refusal);
  if (!is_cut || !told || absl::IsAborted(refusal)) return refusal;
  if (told->items.empty()) told->items.emplace_back();
  told->items.front()["limited"] = "true";
  return Refuse(refusal.code(), told->reason, refusal.message(), told->items, told->retry_after);
}

}  // namespace

bool ReportPlan::IsOnNode(ProviderId id) const {
  const std::optional<ProviderPlace> place = state_.FindProvider(id);
  return place && IsOwn(*place);
}

absl::Status ReportPlan::CheckHolder(const ReportedHolding& holding) const {
  const ConsumerPtr before = state_.FindConsumer(holding.consumer);
  const auto is_here = [this](const Allocation& row) { return IsOnNode(row.provider); };
  const bool holds =
      before && std::any_of(before->allocations.begin(), before->allocations.end(), is_here);
  if (holds) return absl::OkStatus();
  if (report_.identified) {
    // For this tracker a consumer of other nodes is one that does not exist.
    std::vector<FaultItem> items;
    std::string message;
    CompareConsumer(
        holding.consumer, nullptr, holding.expected_generation, [] { return "allocations"; }, items,
        message);
    return RefuseAll(absl::StatusCode::kAborted, "CONSUMER_GENERATION_CONFLICT", std::move(message),
                     items);
  }
  // A consumer of another generation is a conflict, which is found later.
  const bool is_current = before && before->generation == holding.expected_generation;
  return is_current ? DeniedHolding(holding, "holds nothing on the node") : absl::OkStatus();
}

absl::Status ReportPlan::CheckHoldings() const {
  for (const ReportedHolding& holding : report_.holdings) {
    BERTH_RETURN_IF_ERROR(CheckHolder(holding));
    for (const ProviderAmounts& wanted : holding.allocations) {
      if (entry_of_.contains(wanted.provider) || IsOnNode(wanted.provider)) continue;
      return DeniedHolding(
          holding, absl::StrCat("cannot get anything of provider ", wanted.provider.ToString(),
                                ", which is not part of the node"));
    }
  }
  return absl::OkStatus();
}

std::vector<ConsumerAllocations> ReportPlan::WantedAllocations() const {
  std::vector<ConsumerAllocations> wanted;
  for (const ReportedHolding& holding : report_.holdings) {
    ConsumerAllocations& one = wanted.emplace_back();
    one.consumer = holding.consumer;
    one.expected_generation = holding.expected_generation;
    one.allocations = holding.allocations;
    // A consumer that is gone is refused later, by its generation.
    const ConsumerPtr before = state_.FindConsumer(holding.consumer);
    if (before == nullptr) continue;
    one.project = before->owner->project;
    one.user = before->owner->user;
    one.type = before->owner->type;
    std::vector<Allocation> elsewhere;
    for (const Allocation& row : before->allocations) {
      if (!IsOnNode(row.provider)) elsewhere.push_back(row);
    }
    std::vector<ProviderAmounts> kept = AmountsOf(state_.catalog(), elsewhere);
    std::move(kept.begin(), kept.end(), std::back_inserter(one.allocations));
  }
  return wanted;
}

absl::StatusOr<Outcome> ReportPlan::DecideReshape(const Removals& removals, const Content& content,
                                                  const RuleContext& context) const {
  Outcome outcome = MakeOutcome(removals, content, context);
  std::vector<ReshapedConfig> configs;
  for (size_t i = 0; i < places_.size(); ++i) {
    const ProviderAnswer& answer = outcome.result.providers[i];
    configs.push_back({answer.config->id, places_[i], answer.config, answer.root});
  }
  for (const int p : removals.going) {
    configs.push_back(
        {root_->tree->config(p).id, ProviderPlace{root_->tree, p}, nullptr, ProviderId()});
  }
  // Parents come before their children, and removed children before their parents.
  for (size_t i = 0; i < configs.size(); ++i) configs[i].order = static_cast<int>(i);
  const std::vector<ConsumerAllocations> wanted = WantedAllocations();
  ReshapePlan plan(state_, std::move(configs), wanted, /*keeps_leases=*/true);
  BERTH_RETURN_IF_ERROR(
      WithLimits(plan.CheckConsumers({}, /*keep_unchanged=*/true), content.limited));
  Changes names(content.new_classes.begin(), content.new_classes.end());
  names.insert(names.end(), content.new_traits.begin(), content.new_traits.end());
  Outcome reshaped = plan.MakeOutcome(context, std::move(names));
  outcome.result.over_capacity = std::move(reshaped.result.over_capacity);
  reshaped.changes.push_back(std::move(outcome.changes.back()));  // the record of the node
  outcome.changes = std::move(reshaped.changes);
  return outcome;
}

}  // namespace berth::placement
