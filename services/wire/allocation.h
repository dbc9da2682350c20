// Consumers and their allocations between protos and the domain.
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
// What one consumer of a request shall hold; `field` names its entry.
absl::StatusOr<placement::ConsumerAllocations> ConsumerOf(absl::string_view field,
                                                          const pb::ConsumerAllocations& from);
absl::StatusOr<std::vector<placement::ConsumerAllocations>> ConsumersOf(
    const google::protobuf::RepeatedPtrField<pb::ConsumerAllocations>& consumers);

void FillAdjustAllocations(const WriteAnswer& answer, pb::AdjustAllocationsResponse* response);
void FillSetAllocations(const WriteAnswer& answer, pb::SetAllocationsResponse* response);

// A consumer with those of its allocations whose provider `is_wanted`. The generations of their
// providers are said where `state` is given.
void FillConsumer(const placement::Catalog& catalog, const placement::State* state,
                  const placement::Consumer& consumer,
                  absl::FunctionRef<bool(placement::ProviderId)> is_wanted, pb::Consumer* to);
// The same as `state` has it.
void FillConsumer(const placement::State& state, const placement::Consumer& consumer,
                  absl::FunctionRef<bool(placement::ProviderId)> is_wanted, pb::Consumer* to);

// Allocations that rise by provider, one ProviderAllocation for each provider. Generations are said
// where `state` is given and knows the provider.
void FillAllocations(const placement::Catalog& catalog, const placement::State* state,
                     const std::vector<placement::Allocation>& allocations,
                     absl::FunctionRef<bool(placement::ProviderId)> is_wanted,
                     google::protobuf::RepeatedPtrField<pb::ProviderAllocation>* to);

void FillUsageGroup(const std::string& type, const placement::UsageGroup& group,
                    pb::UsageGroup* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_ALLOCATION_H_
