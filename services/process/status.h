// THE table from what placement refuses to what a gRPC client sees.
//
// Every error carries google.rpc.ErrorInfo in grpc-status-details-bin: one per thing at fault, or
// one alone (P-235, P-236). What no rule wrote, such as PostgreSQL's text, goes to the log and never
// to a client.
#ifndef BERTH_SERVICES_PROCESS_STATUS_H_
#define BERTH_SERVICES_PROCESS_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/values/refusal.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf
namespace grpc {
class Status;
}  // namespace grpc

namespace berth::services {

inline constexpr char kPlacementDomain[] = "berth.placement";

// A refusal as it goes over the wire. Trailers are small: words beyond 512 bytes are cut, items
// beyond 4 KiB left out, of which the last one that is there says how many (`omitted`).
grpc::Status WireStatus(absl::StatusCode code, absl::string_view message, absl::string_view domain,
                        const placement::Refusal& refusal);

// `status` with `detail` for its google.rpc.Status, behind what the refusal says itself. One that
// has no room there is left out: keep it well below 4 KiB.
absl::Status WithDetail(absl::Status status, const google::protobuf::Message& detail);

// What a client of placement is told of `status`:
//   a refusal (placement/values/refusal.h)   its own code, words, reason and items, then the messages that
//                                     WithDetail added
//   kUnavailable without one          UNAVAILABLE / STORE_UNAVAILABLE: nothing was done
//   kDeadlineExceeded without one     DEADLINE_EXCEEDED / OUTCOME_UNKNOWN: ask GetRequest
//   kCancelled without one            CANCELLED / CANCELLED
//   anything else                     INTERNAL / INTERNAL; the words are in the log
grpc::Status PlacementStatus(const absl::Status& status);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_STATUS_H_
