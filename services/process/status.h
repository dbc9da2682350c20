// Turns the errors of error.h into the grpc::Status with which a call ends. The grpc::Status has
// the code, the message, and the whole google.rpc.Status in grpc-status-details-bin. Thread-safe.
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

// Returns the error of ErrorOf as the status of a call.
grpc::Status WireStatus(absl::StatusCode code, absl::string_view message, absl::string_view domain,
                        const placement::Refusal& refusal);

// Returns the error of PlacementError as the status of a call. OK stays OK.
grpc::Status PlacementStatus(const absl::Status& status);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_STATUS_H_
