#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/form.h"
#include "placement/guard.h"
#include "placement/rules.h"

namespace berth::placement {
namespace {

// `place` with `traits`; nothing where it has these already (P-99).
Outcome WithTraits(const ProviderPlace& place, std::vector<TraitId> traits,
                   const RuleContext& context) {
  if (traits == place.config().traits) return KeepProvider(place);
  ProviderConfig config = place.config();
  config.traits = std::move(traits);
  config.generation = config.generation.Next();
  config.updated_at = context.now;
  return PutProvider(std::move(config), place.tree->root_id());
}

}  // namespace

// Form; PROVIDER_NOT_FOUND; the generation; TRAIT_NOT_FOUND (P-98).
absl::StatusOr<Outcome> Decide(const State& state, const SetProviderTraits& command,
                               const RuleContext& context) {
  Form form;
  RequireGenerationField(form, command.expected_generation.has_value());
  const bool few = AtMostField(form, "traits", command.traits.size(), kTraitsMax);
  for (size_t i = 0; few && i < command.traits.size(); ++i) {
    form.UpperName(absl::StrCat("traits[", i, "]"), command.traits[i]);
  }
  if (absl::Status status = form.status(); !status.ok()) return status;
  absl::StatusOr<ProviderPlace> place = RequireProvider(state, command.provider);
  if (!place.ok()) return place.status();
  if (absl::Status status = CheckGeneration(place->config(), command.expected_generation);
      !status.ok()) {
    return status;
  }
  absl::StatusOr<std::vector<TraitId>> traits = RequireTraits(state, command.traits);
  if (!traits.ok()) return traits.status();
  return WithTraits(*place, *std::move(traits), context);
}

// PROVIDER_NOT_FOUND; the generation, where one is given (P-101).
absl::StatusOr<Outcome> Decide(const State& state, const ClearProviderTraits& command,
                               const RuleContext& context) {
  absl::StatusOr<ProviderPlace> place = RequireProvider(state, command.provider);
  if (!place.ok()) return place.status();
  if (absl::Status status = CheckGeneration(place->config(), command.expected_generation);
      !status.ok()) {
    return status;
  }
  return WithTraits(*place, {}, context);
}

// Form, duplicates among it; PROVIDER_NOT_FOUND; the generation (P-103). Moves the generation even
// where the set is the same (P-104).
absl::StatusOr<Outcome> Decide(const State& state, const SetProviderAggregates& command,
                               const RuleContext& context) {
  Form form;
  RequireGenerationField(form, command.expected_generation.has_value());
  const bool few = AtMostField(form, "aggregates", command.aggregates.size(), kAggregatesMax);
  std::vector<AggregateId> aggregates = command.aggregates;
  std::sort(aggregates.begin(), aggregates.end());
  for (size_t i = 1; few && i < aggregates.size(); ++i) {
    if (aggregates[i] == aggregates[i - 1]) {
      form.Fault(kDuplicateParameter, "aggregates",
                 absl::StrCat("names ", aggregates[i].ToString(), " twice"));
    }
  }
  if (absl::Status status = form.status(); !status.ok()) return status;
  absl::StatusOr<ProviderPlace> place = RequireProvider(state, command.provider);
  if (!place.ok()) return place.status();
  if (absl::Status status = CheckGeneration(place->config(), command.expected_generation);
      !status.ok()) {
    return status;
  }
  ProviderConfig config = place->config();
  config.aggregates = std::move(aggregates);
  config.generation = config.generation.Next();
  config.updated_at = context.now;
  return PutProvider(std::move(config), place->tree->root_id());
}

}  // namespace berth::placement
