#include "services/wire/reshape.h"

#include <optional>
#include <utility>

#include "services/wire/allocation.h"
#include "services/wire/inventory.h"
#include "services/wire/provider.h"

namespace berth::services {

using placement::CommandBody;
using placement::Generation;
using placement::ProviderId;

namespace {

// Copies the expected configuration generation and allocation generation, each if it is given.
template <typename From, typename To>
void SetExpected(const From& from, To* to) {
  to->expected_generation = ExpectedGeneration(from);
  if (from.has_expected_allocation_generation()) {
    to->expected_allocation_generation = Generation{from.expected_allocation_generation()};
  }
}

template <typename Response>
void FillReshaped(const WriteAnswer& answer, Response* response) {
  for (const placement::ProviderAnswer& provider : answer.decision.result.providers) {
    FillConfig(answer.catalog, *provider.config, provider.root, pb::PROVIDER_VIEW_FULL,
               response->add_providers());
  }
  for (const auto& [consumer, generation] : answer.decision.result.consumers) {
    (*response->mutable_consumer_generations())[consumer.ToString()] = generation.value;
  }
  const placement::Result& result = answer.decision.result;
  FillOvercommits(result.over_capacity, response->mutable_overcommitted());
  for (const std::string& warning : result.warnings) response->add_warnings(warning);
}

absl::StatusOr<placement::ProviderTopology> TopologyOf(const std::string& field,
                                                       const pb::ProviderTopology& from) {
  placement::ProviderTopology provider;
  BERTH_ASSIGN_OR_RETURN(provider.provider,
                         ParseId<ProviderId>(field + ".provider_uuid", from.provider_uuid()));
  SetExpected(from, &provider);
  if (from.has_name()) provider.name = from.name();
  if (from.has_parent_uuid()) {
    provider.parent.emplace();
    if (!from.parent_uuid().empty()) {
      BERTH_ASSIGN_OR_RETURN(*provider.parent,
                             ParseId<ProviderId>(field + ".parent_uuid", from.parent_uuid()));
    }
  }
  if (from.has_inventories()) {
    provider.inventories = NamedInventoriesOf(from.inventories().inventories());
  }
  if (from.has_traits()) provider.traits = TextsOf(from.traits().names());
  if (from.has_aggregate_uuids()) {
    BERTH_ASSIGN_OR_RETURN(provider.aggregates,
                           ParseIds<placement::AggregateId>(field + ".aggregate_uuids.names",
                                                            from.aggregate_uuids().names()));
  }
  return provider;
}

}  // namespace

absl::StatusOr<CommandBody> ReshapeCommand(const pb::ReshapeRequest& request) {
  placement::Reshape command;
  for (const pb::ProviderInventories& from : request.providers()) {
    BERTH_ASSIGN_OR_RETURN(
        const auto id,
        ParseId<ProviderId>(absl::StrCat("providers[", command.providers.size(), "].provider_uuid"),
                            from.provider_uuid()));
    placement::ReshapedProvider& provider = command.providers.emplace_back();
    provider.provider = id;
    SetExpected(from, &provider);
    provider.inventories = NamedInventoriesOf(from.inventories());
  }
  BERTH_ASSIGN_OR_RETURN(command.consumers, ConsumersOf(request.consumers()));
  command.keep_unchanged_rows = request.exempt_unchanged_amounts();
  command.validate_only = request.validate_only();
  return command;
}

absl::StatusOr<CommandBody> ApplyTopologyCommand(const pb::ApplyTopologyRequest& request) {
  placement::ApplyTopology command;
  for (const pb::ProviderTopology& from : request.providers()) {
    BERTH_ASSIGN_OR_RETURN(
        auto provider, TopologyOf(absl::StrCat("providers[", command.providers.size(), "]"), from));
    command.providers.push_back(std::move(provider));
  }
  for (const pb::ProviderRemoval& from : request.removed_providers()) {
    BERTH_ASSIGN_OR_RETURN(
        const auto id, ParseId<ProviderId>(absl::StrCat("removed_providers[",
                                                        command.removed.size(), "].provider_uuid"),
                                           from.provider_uuid()));
    command.removed.push_back({id, ExpectedGeneration(from)});
  }
  BERTH_ASSIGN_OR_RETURN(command.consumers, ConsumersOf(request.consumers()));
  command.keep_unchanged_rows = request.exempt_unchanged_amounts();
  command.validate_only = request.validate_only();
  return command;
}

void FillApplyTopology(const WriteAnswer& answer, pb::ApplyTopologyResponse* response) {
  FillReshaped(answer, response);
}

void FillReshape(const WriteAnswer& answer, pb::ReshapeResponse* response) {
  FillReshaped(answer, response);
}

}  // namespace berth::services
