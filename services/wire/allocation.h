// Conversion of consumers and their allocations between proto messages and domain types. Pure.
#ifndef BERTH_SERVICES_WIRE_ALLOCATION_H_
#define BERTH_SERVICES_WIRE_ALLOCATION_H_

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/usage.pb.h"
#include "placement/commands/command.h"
#include "placement/reads/provider_query.h"
#include "services/wire/form.h"
#include "services/wire/write_answer.h"

namespace berth::services {

absl::StatusOr<placement::CommandBody> SetAllocationsCommand(const pb::SetAllocationsRequest&);
absl::StatusOr<placement::CommandBody> DeleteAllocationsCommand(
    const pb::DeleteAllocationsRequest&);

absl::StatusOr<placement::CommandBody> AdjustAllocationsCommand(
    const pb::AdjustAllocationsRequest&);
// Converts one consumer of a request. `field` is the path of the consumer's entry in the request,
// for error messages.
absl::StatusOr<placement::ConsumerAllocations> ConsumerOf(absl::string_view field,
                                                          const pb::ConsumerAllocations& from);
// Converts the allocations of one consumer. `field` is the path of the list.
absl::StatusOr<std::vector<placement::ProviderAmounts>> ProviderAmountsOf(
    absl::string_view field,
    const google::protobuf::RepeatedPtrField<pb::ProviderAllocation>& from);
absl::StatusOr<std::vector<placement::ConsumerAllocations>> ConsumersOf(
    const google::protobuf::RepeatedPtrField<pb::ConsumerAllocations>& consumers);

void FillAdjustAllocations(const WriteAnswer& answer, pb::AdjustAllocationsResponse* response);
void FillSetAllocations(const WriteAnswer& answer, pb::SetAllocationsResponse* response);

// Fills in a consumer with its allocations on those providers for which `is_wanted` is true. If
// `state` is not null, fills in the generations of these providers, too.
void FillConsumer(const placement::Catalog& catalog, const placement::State* state,
                  const placement::Consumer& consumer,
                  absl::FunctionRef<bool(placement::ProviderId)> is_wanted, pb::Consumer* to);
// Fills in a consumer as the function above does, with names and generations from `state`.
void FillConsumer(const placement::State& state, const placement::Consumer& consumer,
                  absl::FunctionRef<bool(placement::ProviderId)> is_wanted, pb::Consumer* to);

// Adds a ProviderAllocation for each provider for which `is_wanted` is true. If `state` is not
// null, fills in the generations of the providers that exist in `state`. REQUIRES: `allocations`
// are sorted by provider.
void FillAllocations(const placement::Catalog& catalog, const placement::State* state,
                     const std::vector<placement::Allocation>& allocations,
                     absl::FunctionRef<bool(placement::ProviderId)> is_wanted,
                     google::protobuf::RepeatedPtrField<pb::ProviderAllocation>* to);

void FillUsageGroup(const std::string& type, const placement::UsageGroup& group,
                    pb::UsageGroup* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_ALLOCATION_H_
