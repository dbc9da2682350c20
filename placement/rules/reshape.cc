#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/claims/allocation_form.h"
#include "placement/commands/inventory_write.h"
#include "placement/rules/reshape_plan.h"
#include "placement/rules/rules.h"
#include "placement/state/lookup.h"
#include "placement/values/faults.h"

namespace berth::placement {
namespace {

std::string ProviderField(size_t at) { return absl::StrCat("providers[", at, "]"); }

// The checks of the command that need no state. The checks of CheckInventories come last (P-228).
absl::Status CheckForm(const Reshape& command) {
  Faults faults;
  CountField(faults, "providers", command.providers.size(), kReshapedProvidersMax);  // P-221
  AtMostField(faults, "consumers", command.consumers.size(), kConsumersMax);
  for (size_t i = 0; i < command.providers.size(); ++i) {
    const ReshapedProvider& provider = command.providers[i];
    const auto require = [&](const char* name, std::optional<Generation> expected) {
      if (expected) return;
      faults.Add(kGenerationRequired, absl::StrCat(ProviderField(i), ".", name),
                 "is required: give the generation that the provider had when it was last read",
                 {{"provider", provider.provider.ToString()}});
    };
    require("expected_generation", provider.expected_generation);
    require("expected_allocation_generation", provider.expected_allocation_generation);
    InventoryListFields(faults, ProviderField(i) + ".inventories", provider.inventories);
  }
  EachOnce<ProviderId>(faults, "provider", "providers", command.providers,
                       [](const ReshapedProvider& provider) { return provider.provider; });
  ConsumerListFields(faults, command.consumers);
  BERTH_RETURN_IF_ERROR(faults.status());
  for (const ReshapedProvider& provider : command.providers) {
    BERTH_RETURN_IF_ERROR(
        CheckInventories(provider.inventories, {{"provider", provider.provider.ToString()}}));
  }
  return absl::OkStatus();
}

// The providers that the command lists. Fails with PROVIDER_NOT_FOUND, then with
// PROVIDER_GENERATION_CONFLICT; each names all providers at fault.
absl::StatusOr<std::vector<ProviderPlace>> FindListed(const State& state, const Reshape& command) {
  std::vector<ProviderPlace> places;
  std::vector<FaultItem> items;
  std::string message;
  for (size_t i = 0; i < command.providers.size(); ++i) {
    const ProviderId id = command.providers[i].provider;
    std::optional<ProviderPlace> place = state.FindProvider(id);
    if (!place) {
      if (items.empty()) message = absl::StrCat("there is no provider ", id.ToString());
      items.push_back(
          {{"provider", id.ToString()}, {"field", ProviderField(i) + ".provider_uuid"}});
      continue;
    }
    places.push_back(*std::move(place));
  }
  BERTH_RETURN_IF_ERROR(RefuseAll(absl::StatusCode::kNotFound, "PROVIDER_NOT_FOUND",
                                  std::exchange(message, ""), items));
  for (size_t i = 0; i < places.size(); ++i) {
    CompareGenerations(places[i], ProviderField(i), command.providers[i].expected_generation,
                       command.providers[i].expected_allocation_generation, items, message);
  }
  BERTH_RETURN_IF_ERROR(RefuseAll(absl::StatusCode::kAborted, "PROVIDER_GENERATION_CONFLICT",
                                  std::move(message), items));
  return places;
}

}  // namespace

// Refuses, in this order:
// - a malformed command, with INVALID_INVENTORY as the last of these refusals;
// - for the listed providers: PROVIDER_NOT_FOUND; PROVIDER_GENERATION_CONFLICT, if the generation
//   or the allocation generation is not the expected one (P-232);
// - for the consumers and their allocations: CONSUMER_GENERATION_CONFLICT; PROVIDER_NOT_FOUND;
//   RESOURCE_CLASS_NOT_FOUND; INVENTORY_IN_USE; NO_INVENTORY; UNIT_CONSTRAINT_VIOLATED;
//   CAPACITY_EXCEEDED (P-229).
// Raises the generation of every listed provider by 1, even if the provider's inventories stay the
// same (P-231, P-233).
absl::StatusOr<Outcome> Decide(const State& state, const Reshape& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  BERTH_ASSIGN_OR_RETURN(std::vector<ProviderPlace> places, FindListed(state, command));
  std::vector<ReshapedConfig> configs;
  std::vector<FaultItem> unknown_classes;
  for (size_t i = 0; i < places.size(); ++i) {
    const ProviderPlace& place = places[i];
    auto config = std::make_shared<ProviderConfig>(place.config());
    config->inventories = KnownRows(state, ProviderField(i) + ".inventories",
                                    command.providers[i].inventories, &unknown_classes);
    config->generation = config->generation.Next();
    config->updated_at = context.now;
    const ProviderId id = config->id;
    configs.push_back({id, place, std::move(config), place.tree->root_id(), place.position});
  }
  ReshapePlan plan(state, std::move(configs), command.consumers);
  BERTH_RETURN_IF_ERROR(
      plan.CheckConsumers(std::move(unknown_classes), command.keep_unchanged_rows));
  Outcome outcome = plan.MakeOutcome(context);
  outcome.result.warnings = plan.Warnings();
  return outcome;
}

}  // namespace berth::placement
