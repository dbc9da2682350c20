#include "services/client/cpp/call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "berth/access/v1/access_service.grpc.pb.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "services/client/cpp/backoff.h"

namespace berth::client {
namespace {

namespace pb = ::berth::placement::v1;

constexpr absl::Duration kConnectMax = absl::Seconds(3);  // then the next process is tried
// An attempt that has less time is not begun: most likely nobody would know its outcome.
constexpr absl::Duration kAttemptMin = absl::Milliseconds(100);
constexpr char kOutcomeUnknown[] = "OUTCOME_UNKNOWN";

// Whether nobody knows whether the call was done, or will be: the server says so, or it did not
// answer. Each refusal of Berth has a reason, and gRPC itself refuses calls with these codes.
bool IsOpen(const Failure& failure) {
  if (!failure.reason.empty()) return failure.reason == kOutcomeUnknown;
  return failure.code != absl::StatusCode::kUnimplemented &&
         failure.code != absl::StatusCode::kUnauthenticated &&
         failure.code != absl::StatusCode::kPermissionDenied;
}

// Whether the same call may get another answer. gRPC tells a broken connection with any of these
// codes.
bool IsWorthRepeating(const Failure& failure) {
  if (failure.code == absl::StatusCode::kUnavailable) return true;
  if (!failure.reason.empty()) {
    return failure.reason == kOutcomeUnknown || failure.reason == "DEADLINE_BEFORE_START";
  }
  return failure.code == absl::StatusCode::kDeadlineExceeded ||
         failure.code == absl::StatusCode::kCancelled || failure.code == absl::StatusCode::kUnknown;
}

// Whether no attempt with this request_id can have been done: the ledger has cancelled the id, or
// keeps another write under it.
bool IsFinal(const Failure& failure) {
  return failure.reason == "REQUEST_CANCELLED" || failure.reason == "REQUEST_ID_REUSED";
}

// Nothing was sent. gRPC says why there is no connection only as the answer to a call. So a call is
// made that changes nothing, and fails at once. `until`: as Now().
Failure Unreachable(const std::shared_ptr<grpc::Channel>& channel, absl::Duration until) {
  Failure failure;
  failure.code = absl::StatusCode::kUnavailable;
  failure.reason = "UNREACHABLE";
  failure.message = "no connection to the placement process";
  if (channel->GetState(/*try_to_connect=*/false) != GRPC_CHANNEL_TRANSIENT_FAILURE) return failure;
  grpc::ClientContext context;
  context.set_deadline(Within(std::min(kAttemptMin, until - Now())));
  access::v1::WhoAmIResponse response;
  const grpc::Status status =
      access::v1::AccessService::Stub(channel).WhoAmI(&context, {}, &response);
  // Any other code is not about the connection.
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    absl::StrAppend(&failure.message, ": ", status.error_message());
  }
  return failure;
}

// The attempts of one write; or of one read, which has no request_id.
class Attempts {
 public:
  Attempts(Endpoints* endpoints, AnyWrite write, const CallOptions& options)
      : endpoints_(endpoints),
        write_(std::move(write)),
        options_(options),
        deadline_(Now() + options.timeout) {}

  Failure Ask() {
    bool open = false;
    return Repeat(write_.attempt, &open);
  }
  Failure Send() {
    bool open = false;
    const Failure failure = Repeat(write_.attempt, &open);
    if (failure.ok() || !open || IsFinal(failure)) return failure;
    return IsWorthRepeating(failure) ? Unknown(failure) : Settle(failure);
  }

 private:
  // Calls until the answer is not worth repeating, or the time is over. Sets `open` if an attempt
  // is open.
  template <typename Call>
  Failure Repeat(const Call& call, bool* open) {
    while (true) {
      const std::shared_ptr<grpc::Channel> channel = endpoints_->Channel();
      const Failure failure = Attempt(channel, call);
      if (failure.ok()) return failure;
      *open = *open || IsOpen(failure);
      if (!IsWorthRepeating(failure)) return failure;
      endpoints_->Failed(channel);
      const absl::Duration pause =
          std::max(failure.retry_delay.value_or(backoff_.Next()), kPauseMin);
      if (Now() + pause + kAttemptMin > deadline_) return failure;
      absl::SleepFor(pause);
    }
  }

  template <typename Call>
  Failure Attempt(const std::shared_ptr<grpc::Channel>& channel, const Call& call) {
    const absl::Duration until = std::min(Now() + options_.attempt_max, deadline_);
    if (!Connect(channel.get(), std::min(kConnectMax, until - Now()))) {
      return Unreachable(channel, until);
    }
    grpc::ClientContext context;
    context.set_deadline(Within(until - Now()));
    return FailureOf(call(channel, &context));
  }

  // What became of the write, of which an attempt is open and a later one was refused with
  // `refusal`.
  Failure Settle(const Failure& refusal) {
    pb::GetRequestRequest request;
    request.set_request_id(write_.request_id);
    request.set_cancel_if_absent(true);
    pb::GetRequestResponse response;
    bool open = false;
    const Failure asked = Repeat(
        [&](const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext* context) {
          return pb::LedgerService::Stub(channel).GetRequest(context, request, &response);
        },
        &open);
    if (!asked.ok()) return Unknown(asked);
    if (response.outcome() == pb::REQUEST_OUTCOME_CANCELLED) return refusal;
    if (response.outcome() != pb::REQUEST_OUTCOME_APPLIED) return Unknown(refusal);
    if (write_.take(response.response())) return Failure();
    Failure unread;
    unread.code = absl::StatusCode::kInternal;
    unread.message = "the write was done, but its kept answer cannot be read";
    unread.items = {{{"request_id", write_.request_id}}};
    return unread;
  }

  Failure Unknown(const Failure& last) const {
    Failure unknown;
    unknown.code = absl::StatusCode::kDeadlineExceeded;
    unknown.reason = kOutcomeUnknown;
    unknown.message = absl::StrCat(
        "it is not known whether the write was done; the last answer was ", InWords(last));
    unknown.items = {{{"request_id", write_.request_id}}};
    return unknown;
  }

  Endpoints* const endpoints_;
  const AnyWrite write_;
  const CallOptions options_;
  const absl::Duration deadline_;
  Backoff backoff_;
};

}  // namespace

std::string RandomRequestId() {
  std::random_device& random = RandomSource();
  return absl::StrFormat("%08x%08x%08x%08x", random(), random(), random(), random());
}

Failure SendUntilAnswered(Endpoints* endpoints, const Attempt& attempt,
                          const CallOptions& options) {
  return Attempts(endpoints, AnyWrite{"", attempt, nullptr}, options).Ask();
}

Failure SendUntilKnown(Endpoints* endpoints, const AnyWrite& write, const CallOptions& options) {
  return Attempts(endpoints, write, options).Send();
}

}  // namespace berth::client
