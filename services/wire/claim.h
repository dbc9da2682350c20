// Conversion of claims between proto messages and domain types. A claim does not name providers:
// the service searches for them. Pure.
#ifndef BERTH_SERVICES_WIRE_CLAIM_H_
#define BERTH_SERVICES_WIRE_CLAIM_H_

#include "absl/status/statusor.h"
#include "berth/placement/v1/candidate.pb.h"
#include "placement/commands/command.h"
#include "services/wire/write_answer.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

// These functions make commands without `choices`; the search adds the choices later.
absl::StatusOr<placement::CommandBody> ClaimCommand(const pb::ClaimRequest& request);
absl::StatusOr<placement::CommandBody> ClaimManyCommand(const pb::ClaimManyRequest& request);

void FillClaim(const WriteAnswer& answer, pb::ClaimResponse* response);
void FillClaimMany(const WriteAnswer& answer, pb::ClaimManyResponse* response);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_CLAIM_H_
