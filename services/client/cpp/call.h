// Read: a call that changes nothing, sent until a process answers. Write: a call that changes the
// ledger, sent until it is known whether it was done.
//
// All attempts of a write carry the same request_id, so it takes effect once at most, whichever
// process answers. ledger.proto says what the ledger keeps of request ids. Functions without state;
// thread-safe.
#ifndef BERTH_SERVICES_CLIENT_CPP_CALL_H_
#define BERTH_SERVICES_CLIENT_CPP_CALL_H_

#include <grpcpp/client_context.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "google/protobuf/any.pb.h"
#include "services/client/cpp/endpoint.h"
#include "services/client/cpp/failure.h"

namespace berth::client {

struct CallOptions {
  absl::Duration timeout = absl::Seconds(30);      // for all attempts together
  absl::Duration attempt_max = absl::Seconds(10);  // for one attempt
};

using Attempt =
    std::function<grpc::Status(const std::shared_ptr<grpc::Channel>&, grpc::ClientContext*)>;

// A read, without the types of its messages.
Failure SendUntilAnswered(Endpoints* endpoints, const Attempt& attempt, const CallOptions& options);

// Sends `request` with `method`, for example
//   Read(&endpoints, &CandidateService::Stub::FindCandidates, request, &response)
// and blocks until a process answers or refuses. After UNAVAILABLE, and if an attempt is not answered,
// the request is sent again, to the next process, after the wait that the server asks for, at least
// 100 ms, or a random one. Returns OK with `response`, the refusal, or the last failure if the
// timeout has passed.
template <typename Stub, typename Request, typename Response>
Failure Read(Endpoints* endpoints,
             grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
             const Request& request, Response* response, const CallOptions& options = {}) {
  return SendUntilAnswered(
      endpoints,
      [&](const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext* context) {
        response->Clear();
        return (Stub(channel).*method)(context, request, response);
      },
      options);
}

// 128 random bits as 32 hexadecimal digits.
std::string RandomRequestId();

// One write, without the types of its messages. `attempt` makes the call; `take` makes the kept
// answer of an applied write the answer, and returns whether it could.
struct AnyWrite {
  std::string request_id;
  Attempt attempt;
  std::function<bool(const google::protobuf::Any&)> take;
};
Failure SendUntilKnown(Endpoints* endpoints, const AnyWrite& write, const CallOptions& options);

// Sends `request` with `method`, for example
//   Write(&endpoints, &AllocationService::Stub::SetAllocations, request, &response)
// and blocks until the outcome is known. A request without a request_id gets a random one. If an
// attempt is not answered, or is answered with UNAVAILABLE, OUTCOME_UNKNOWN or
// DEADLINE_BEFORE_START, the same request is sent again, to the next process, after the same wait as
// after a Read.
//
// Returns OK with `response`; or the refusal of the server, and the write was not done; or
//   UNAVAILABLE / a reason, DEADLINE_EXCEEDED / DEADLINE_BEFORE_START
//       the timeout passed, and no attempt was begun: the write was not done. The reason UNREACHABLE
//       is the client's own: it could not connect. The message says why, for example that the
//       certificate of the server is that of another role.
//   DEADLINE_EXCEEDED / OUTCOME_UNKNOWN
//       nobody knows whether the write was done or will be. The item `request_id` is for
//       LedgerService.GetRequest, and for a repetition of the same request.
//   INTERNAL without a reason, with an item `request_id`
//       the write was done, but its answer got lost, and this release cannot read the answer that the
//       ledger has kept.
// A refusal that comes after an attempt without an answer does not say what became of that attempt,
// which may still be on its way. Then GetRequest with cancel_if_absent decides: the write was done, or
// it never will be, and its request_id cannot be used for 24 h.
//
// REQUIRES: `method` is a write of placement with one request and one answer, but not StartEpoch,
// of which the ledger keeps no request_id.
template <typename Stub, typename Request, typename Response>
Failure Write(Endpoints* endpoints,
              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
              Request request, Response* response, const CallOptions& options = {}) {
  if (request.request_id().empty()) request.set_request_id(RandomRequestId());
  AnyWrite write;
  write.request_id = request.request_id();
  write.attempt = [&](const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext* context) {
    response->Clear();
    return (Stub(channel).*method)(context, request, response);
  };
  write.take = [&](const google::protobuf::Any& kept) { return kept.UnpackTo(response); };
  return SendUntilKnown(endpoints, write, options);
}

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_CALL_H_
