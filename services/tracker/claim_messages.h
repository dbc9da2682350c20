// Conversion of the calls that make and end claims between messages and values. Pure.
#ifndef BERTH_SERVICES_TRACKER_CLAIM_MESSAGES_H_
#define BERTH_SERVICES_TRACKER_CLAIM_MESSAGES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "berth/tracker/v1/tracker.pb.h"
#include "grpcpp/support/status.h"
#include "tracker/claims/claim.h"
#include "tracker/ground/uuid.h"
#include "tracker/node/node.h"

namespace berth::services {

// The domain of all errors of the tracker.
inline constexpr char kTrackerDomain[] = "berth.tracker";

// InvalidArgument for a field that is missing, malformed or out of its range, or that placement
// would refuse in a record (tracker/uplink/record_form.h). The message begins with the name of the
// field.
absl::StatusOr<tracker::InstanceClaim> ClaimOf(
    const berth::tracker::v1::ClaimInstanceRequest& request);
absl::StatusOr<tracker::MoveClaim> ClaimOf(const berth::tracker::v1::ClaimMoveRequest& request);

// Returns the uuid in `text`, the value of `field`, which names a thing.
//
// InvalidArgument, likewise, if `text` is no uuid or the nil uuid.
absl::StatusOr<tracker::Uuid> ReadUuid(const std::string& field, const std::string& text);

// InvalidArgument, likewise, if the record of an instance has no uuid, generation or flavor.
absl::Status CheckInstance(const berth::placement::v1::Instance& instance);
// The id of the claim that the request names, with its uuid in lower case. InvalidArgument for an
// id that is absent, or longer than any claim's.
absl::StatusOr<std::string> ClaimIdOf(const berth::tracker::v1::AbortClaimRequest& request);
// The uuid, the generation and the time of the record that the caller knows.
tracker::Instance KnownOf(const berth::tracker::v1::UpdateUsageRequest& request);
absl::StatusOr<tracker::MoveDrop> DropOf(const berth::tracker::v1::DropMoveClaimRequest& request);

void FillClaim(const tracker::OpenClaim& claim, berth::tracker::v1::Claim* to);

// The reason in the error with which a call ends that `status` refuses. Empty for OK.
std::string ReasonOf(const absl::Status& status);
// The status with which a call ends that `status` refuses. A message of InvalidArgument begins with
// the name of a field.
grpc::Status ClaimStatus(const absl::Status& status);

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_CLAIM_MESSAGES_H_
