#include "placement/commands/decision.h"

#include <utility>

#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

constexpr absl::Duration kRetryAfter = absl::Milliseconds(200);

}  // namespace

Decision OnlyStatus(absl::Status status) {
  Decision decision;
  decision.status = std::move(status);
  return decision;
}

absl::Status OutcomeUnknown() {
  return absl::DeadlineExceededError(
      "it is not known whether the write was done: GetRequest with its request id tells");
}

absl::Status NotDone(absl::string_view why) {
  return Refuse(absl::StatusCode::kUnavailable, "STORE_UNAVAILABLE", why, {}, kRetryAfter);
}

absl::Status QueueFull() {
  return Refuse(absl::StatusCode::kUnavailable, "OVERLOADED",
                "too many writes are waiting: nothing was done, try again", {}, kRetryAfter);
}

}  // namespace berth::placement
