// The table that maps every failure of placement to the error that a client receives.
//
// An error is a google.rpc.Status with one google.rpc.ErrorInfo for each item at fault, or exactly
// one if no item is named (P-235, P-236). Text that no rule of placement wrote, such as
// PostgreSQL's messages, goes to the log and never to a client. Pure functions except for that log
// line; free of gRPC; thread-safe.
#ifndef BERTH_SERVICES_PROCESS_ERROR_H_
#define BERTH_SERVICES_PROCESS_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/rpc/status.pb.h"
#include "placement/values/refusal.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace berth::services {

inline constexpr char kPlacementDomain[] = "berth.placement";

// Makes the error for a refusal. gRPC sends errors in trailers, which must stay small. So a message
// longer than 512 bytes is cut, and items that do not fit into 4 KiB are left out. The last item
// that is kept says in `omitted` how many items were left out.
google::rpc::Status ErrorOf(absl::StatusCode code, absl::string_view message,
                            absl::string_view domain, const placement::Refusal& refusal);

// Attaches `detail` to `status`. The client receives `detail` after the details of the refusal
// itself, if both fit into 4 KiB; otherwise `detail` is not sent. So `detail` should be much
// smaller than 4 KiB.
absl::Status WithDetail(absl::Status status, const google::protobuf::Message& detail);

// The error that a client of placement receives for `status`; an empty google.rpc.Status for OK.
//   a refusal (placement/values/refusal.h)  its own code, message, reason and items, then what
//                                           WithDetail attached
//   kUnavailable without a refusal          UNAVAILABLE / STORE_UNAVAILABLE: nothing was done
//   kDeadlineExceeded without a refusal     DEADLINE_EXCEEDED / OUTCOME_UNKNOWN: ask GetRequest
//   kCancelled without a refusal            CANCELLED / CANCELLED
//   any other failure                       INTERNAL / INTERNAL
// The text of a failure that is no refusal is in the log, the same text at most once a second, and
// at most ten texts within a second. Calls that their callers cancelled are not in it.
google::rpc::Status PlacementError(const absl::Status& status);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_ERROR_H_
