// Conversion of releases and leases of consumers between proto messages and domain types. Pure.
#ifndef BERTH_SERVICES_WIRE_CONSUMER_H_
#define BERTH_SERVICES_WIRE_CONSUMER_H_

#include "absl/status/statusor.h"
#include "berth/placement/v1/consumer.pb.h"
#include "placement/commands/command.h"
#include "services/wire/form.h"
#include "services/wire/write_answer.h"

namespace berth::services {

absl::StatusOr<placement::CommandBody> ReleaseConsumersCommand(
    const pb::ReleaseConsumersRequest& request);
absl::StatusOr<placement::CommandBody> SetLeaseCommand(const pb::SetLeaseRequest& request);

void FillReleaseConsumers(const WriteAnswer& answer, pb::ReleaseConsumersResponse* response);
void FillSetLease(const WriteAnswer& answer, pb::SetLeaseResponse* response);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_CONSUMER_H_
