// Conversion of providers, their traits and aggregates between proto messages and domain types.
// Pure.
#ifndef BERTH_SERVICES_WIRE_PROVIDER_H_
#define BERTH_SERVICES_WIRE_PROVIDER_H_

#include "absl/status/statusor.h"
#include "berth/placement/v1/association.pb.h"
#include "berth/placement/v1/constraint.pb.h"
#include "berth/placement/v1/provider.pb.h"
#include "placement/commands/command.h"
#include "placement/reads/provider_query.h"
#include "services/wire/form.h"
#include "services/wire/write_answer.h"

namespace berth::services {

absl::StatusOr<placement::CommandBody> CreateProviderCommand(const pb::CreateProviderRequest&);
absl::StatusOr<placement::CommandBody> UpdateProviderCommand(const pb::UpdateProviderRequest&);
absl::StatusOr<placement::CommandBody> DeleteProviderCommand(const pb::DeleteProviderRequest&);
absl::StatusOr<placement::CommandBody> SetTraitsCommand(const pb::SetProviderTraitsRequest&);
absl::StatusOr<placement::CommandBody> ClearTraitsCommand(const pb::ClearProviderTraitsRequest&);
absl::StatusOr<placement::CommandBody> SetAggregatesCommand(
    const pb::SetProviderAggregatesRequest&);

void FillCreateProvider(const WriteAnswer& answer, pb::CreateProviderResponse* response);
void FillUpdateProvider(const WriteAnswer& answer, pb::UpdateProviderResponse* response);
void FillSetTraits(const WriteAnswer& answer, pb::SetProviderTraitsResponse* response);
void FillClearTraits(const WriteAnswer& answer, pb::ClearProviderTraitsResponse* response);
void FillSetAggregates(const WriteAnswer& answer, pb::SetProviderAggregatesResponse* response);

// Fills in the configuration of a provider in the tree of `root`, without usage or owner.
void FillConfig(const placement::Catalog& catalog, const placement::ProviderConfig& config,
                placement::ProviderId root, pb::ProviderView view, pb::Provider* to);
// Fills in everything about a provider of `state`, including its usage and its owner.
void FillProvider(const placement::State& state, const placement::ProviderPlace& place,
                  pb::ProviderView view, pb::Provider* to);

// The provider that `text`, the field provider_uuid of a request, names. Fails with INVALID_FIELD,
// then PROVIDER_NOT_FOUND.
absl::StatusOr<placement::ProviderPlace> FindProvider(const placement::State& state,
                                                      absl::string_view text);

absl::StatusOr<placement::ProviderFilter> FilterOf(const pb::ListProvidersRequest& request);
// Turn the terms of a request into sets, one per term (see placement/search/constraint.h).
absl::StatusOr<std::vector<std::vector<placement::AggregateId>>> AggregateSets(
    absl::string_view field, const google::protobuf::RepeatedPtrField<pb::AggregateTerm>& terms);
std::vector<std::vector<std::string>> TraitSets(
    const google::protobuf::RepeatedPtrField<pb::TraitTerm>& terms);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_PROVIDER_H_
