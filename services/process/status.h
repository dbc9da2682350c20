// The errors of error.h as the grpc::Status that a call ends with: code, message, and the whole
// google.rpc.Status in grpc-status-details-bin. Thread-safe.
#ifndef BERTH_SERVICES_PROCESS_STATUS_H_
#define BERTH_SERVICES_PROCESS_STATUS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/values/refusal.h"
#include "services/process/error.h"

namespace grpc {
class Status;
}  // namespace grpc

namespace berth::services {

// ErrorOf, as a call's status.
grpc::Status WireStatus(absl::StatusCode code, absl::string_view message, absl::string_view domain,
                        const placement::Refusal& refusal);

// PlacementError, as a call's status; OK for OK.
grpc::Status PlacementStatus(const absl::Status& status);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_STATUS_H_
