#include "services/wire/provider.h"

#include <utility>

#include "services/wire/inventory.h"

namespace berth::services {

using placement::AggregateId;
using placement::CommandBody;
using placement::ProviderConfig;
using placement::ProviderId;
using placement::ProviderPlace;
using placement::State;

namespace {

// If a tracker has reported the tree of `root`, fills in which host reports it (T-232).
void FillOwner(const State& state, ProviderId root, pb::Provider* to) {
  const auto* node = state.nodes().Find(root);
  if (node == nullptr || (*node)->digest.empty()) return;
  pb::ProviderOwner* owner = to->mutable_owner();
  owner->set_host((*node)->host);
  owner->set_incarnation((*node)->incarnation.ToString());
  owner->set_sequence((*node)->report_sequence);
  SetTime((*node)->updated_at, owner->mutable_reported_at());
}

const placement::ProviderAnswer& OnlyProvider(const WriteAnswer& answer) {
  return answer.decision.result.providers.front();
}

}  // namespace

absl::StatusOr<CommandBody> CreateProviderCommand(const pb::CreateProviderRequest& request) {
  placement::CreateProvider command{std::nullopt, request.name(), std::nullopt};
  command.id = ProviderId{placement::Uuid::Random()};
  if (!request.uuid().empty()) {
    BERTH_ASSIGN_OR_RETURN(command.id, ParseId<ProviderId>("uuid", request.uuid()));
  }
  if (!request.parent_uuid().empty()) {
    BERTH_ASSIGN_OR_RETURN(command.parent,
                           ParseId<ProviderId>("parent_uuid", request.parent_uuid()));
  }
  return command;
}

absl::StatusOr<CommandBody> UpdateProviderCommand(const pb::UpdateProviderRequest& request) {
  placement::UpdateProvider command;
  BERTH_ASSIGN_OR_RETURN(command.id, ProviderIdOf(request));
  if (request.has_name()) command.name = request.name();
  if (request.has_no_parent()) command.parent.emplace(std::nullopt);
  if (request.has_parent_uuid()) {
    BERTH_ASSIGN_OR_RETURN(const auto parent,
                           ParseId<ProviderId>("parent_uuid", request.parent_uuid()));
    command.parent.emplace(parent);
  }
  command.expected_generation = ExpectedGeneration(request);
  return command;
}

absl::StatusOr<CommandBody> DeleteProviderCommand(const pb::DeleteProviderRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ProviderIdOf(request));
  return placement::DeleteProvider{id};
}

absl::StatusOr<CommandBody> SetTraitsCommand(const pb::SetProviderTraitsRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ProviderIdOf(request));
  return placement::SetProviderTraits{id, ExpectedGeneration(request), TextsOf(request.traits())};
}

absl::StatusOr<CommandBody> ClearTraitsCommand(const pb::ClearProviderTraitsRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ProviderIdOf(request));
  return placement::ClearProviderTraits{id, ExpectedGeneration(request)};
}

absl::StatusOr<CommandBody> SetAggregatesCommand(const pb::SetProviderAggregatesRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ProviderIdOf(request));
  BERTH_ASSIGN_OR_RETURN(auto aggregates,
                         ParseIds<AggregateId>("aggregate_uuids", request.aggregate_uuids()));
  return placement::SetProviderAggregates{id, ExpectedGeneration(request), std::move(aggregates)};
}

void FillCreateProvider(const WriteAnswer& answer, pb::CreateProviderResponse* response) {
  const placement::ProviderAnswer& provider = OnlyProvider(answer);
  FillConfig(answer.catalog, *provider.config, provider.root, pb::PROVIDER_VIEW_FULL,
             response->mutable_provider());
}

void FillUpdateProvider(const WriteAnswer& answer, pb::UpdateProviderResponse* response) {
  const placement::ProviderAnswer& provider = OnlyProvider(answer);
  FillConfig(answer.catalog, *provider.config, provider.root, pb::PROVIDER_VIEW_FULL,
             response->mutable_provider());
}

void FillSetTraits(const WriteAnswer& answer, pb::SetProviderTraitsResponse* response) {
  const ProviderConfig& config = *OnlyProvider(answer).config;
  response->set_generation(config.generation.value);
  for (std::string& name : TraitNames(answer.catalog, config.traits)) {
    response->add_traits(std::move(name));
  }
}

void FillClearTraits(const WriteAnswer& answer, pb::ClearProviderTraitsResponse* response) {
  response->set_generation(OnlyProvider(answer).config->generation.value);
}

void FillSetAggregates(const WriteAnswer& answer, pb::SetProviderAggregatesResponse* response) {
  const ProviderConfig& config = *OnlyProvider(answer).config;
  response->set_generation(config.generation.value);
  for (const AggregateId aggregate : config.aggregates) {
    response->add_aggregate_uuids(aggregate.ToString());
  }
}

void FillConfig(const placement::Catalog& catalog, const ProviderConfig& config, ProviderId root,
                pb::ProviderView view, pb::Provider* to) {
  to->set_uuid(config.id.ToString());
  to->set_name(config.name);
  if (config.parent) to->set_parent_uuid(config.parent->ToString());
  to->set_root_uuid(root.ToString());
  to->set_generation(config.generation.value);
  SetTime(config.created_at, to->mutable_created_at());
  SetTime(config.updated_at, to->mutable_updated_at());
  if (view != pb::PROVIDER_VIEW_FULL) return;
  FillInventories(catalog, config, to->mutable_inventories());
  for (std::string& name : TraitNames(catalog, config.traits)) to->add_traits(std::move(name));
  for (const AggregateId aggregate : config.aggregates) {
    to->add_aggregate_uuids(aggregate.ToString());
  }
}

void FillProvider(const State& state, const ProviderPlace& place, pb::ProviderView view,
                  pb::Provider* to) {
  FillConfig(state.catalog(), place.config(), place.tree->root_id(), view, to);
  to->set_allocation_generation(place.allocation_generation().value);
  FillOwner(state, place.tree->root_id(), to);
  if (view == pb::PROVIDER_VIEW_FULL) FillUse(state.catalog(), place, to->mutable_inventories());
}

absl::StatusOr<ProviderPlace> FindProvider(const State& state, absl::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const auto id, ParseId<ProviderId>("provider_uuid", text));
  std::optional<ProviderPlace> place = state.FindProvider(id);
  if (place) return *std::move(place);
  return placement::Refuse(absl::StatusCode::kNotFound, "PROVIDER_NOT_FOUND",
                           absl::StrCat("there is no provider ", id.ToString()),
                           {{{"provider", id.ToString()}, {"field", "provider_uuid"}}});
}

absl::StatusOr<std::vector<std::vector<AggregateId>>> AggregateSets(
    absl::string_view field, const google::protobuf::RepeatedPtrField<pb::AggregateTerm>& terms) {
  std::vector<std::vector<AggregateId>> sets;
  for (const pb::AggregateTerm& term : terms) {
    BERTH_ASSIGN_OR_RETURN(
        auto set,
        ParseIds<AggregateId>(absl::StrCat(field, "[", sets.size(), "].any_of"), term.any_of()));
    sets.push_back(std::move(set));
  }
  return sets;
}

std::vector<std::vector<std::string>> TraitSets(
    const google::protobuf::RepeatedPtrField<pb::TraitTerm>& terms) {
  std::vector<std::vector<std::string>> sets;
  for (const pb::TraitTerm& term : terms) sets.push_back(TextsOf(term.any_of()));
  return sets;
}

absl::StatusOr<placement::ProviderFilter> FilterOf(const pb::ListProvidersRequest& request) {
  placement::ProviderFilter filter;
  if (request.has_name()) filter.name = request.name();
  if (request.has_uuid()) {
    BERTH_ASSIGN_OR_RETURN(filter.id, ParseId<ProviderId>("uuid", request.uuid()));
  }
  if (request.has_in_tree()) {
    BERTH_ASSIGN_OR_RETURN(filter.in_tree, ParseId<ProviderId>("in_tree", request.in_tree()));
  }
  BERTH_ASSIGN_OR_RETURN(filter.member_of, AggregateSets("member_of", request.member_of()));
  BERTH_ASSIGN_OR_RETURN(
      filter.forbidden_aggregates,
      ParseIds<AggregateId>("forbidden_aggregate_uuids", request.forbidden_aggregate_uuids()));
  filter.required = TraitSets(request.required_traits());
  filter.forbidden = TextsOf(request.forbidden_traits());
  for (const auto* entry : SortedEntries(request.resources())) {
    filter.resources.push_back({entry->first, entry->second});
  }
  filter.roots_only = request.roots_only();
  return filter;
}

}  // namespace berth::services
