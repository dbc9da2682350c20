#include "placement/publish/waiting_room.h"

#include <algorithm>
#include <utility>

#include "placement/ground/check.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

constexpr int kOwnersSharing = 10;
constexpr absl::Duration kWaitAgainAfter = absl::Milliseconds(200);

absl::Status TooManyOfOwnerWait() {
  return Refuse(
      absl::StatusCode::kUnavailable, "OVERLOADED",
      "too many reads of this caller wait for a newer revision: try again, or ask another "
      "process",
      {}, kWaitAgainAfter);
}

absl::Status TooManyWait() {
  return Refuse(absl::StatusCode::kUnavailable, "TOO_MANY_WAIT",
                "too many reads wait for a newer revision: try again, or ask another process", {},
                kWaitAgainAfter);
}

}  // namespace

WaitingRoom::WaitingRoom(int waiters_max)
    : waiters_max_(static_cast<size_t>(waiters_max)),
      share_(static_cast<size_t>(std::max(waiters_max / kOwnersSharing, 1))) {
  BERTH_CHECK(waiters_max >= 0);  // an option
}

absl::Status WaitingRoom::Admit(Waiter* waiter) {
  const auto count = counts_.find(waiter->call.owner);
  const size_t free = waiters_max_ - waiters_.size();
  if (count != counts_.end() && count->second >= std::max(share_, free / 2)) {
    return TooManyOfOwnerWait();
  }
  if (free == 0) return TooManyWait();
  ++counts_[waiter->call.owner];
  const Revision minimum = waiter->minimum;
  waiters_.emplace(minimum, std::move(*waiter));
  return absl::OkStatus();
}

std::vector<WaitingRoom::Call> WaitingRoom::TakeUpTo(Revision revision, AnswerFor answer_for) {
  return Take(waiters_.upper_bound(revision), answer_for);
}

std::vector<WaitingRoom::Call> WaitingRoom::TakeAny(AnswerFor answer_for) {
  return Take(waiters_.end(), answer_for);
}

// Asks about the waiters before `end`.
std::vector<WaitingRoom::Call> WaitingRoom::Take(Waiters::iterator end, AnswerFor answer_for) {
  std::vector<Call> calls;
  for (auto at = waiters_.begin(); at != end;) {
    const auto waiting = at++;
    Waiter& waiter = waiting->second;
    std::optional<Answer> answer = answer_for(waiter);
    if (!answer) continue;
    calls.emplace_back([ready = std::move(waiter.ready), answer = *std::move(answer)]() mutable {
      ready(std::move(answer));
    });
    const auto count = counts_.find(waiter.call.owner);
    BERTH_CHECK(count != counts_.end() && count->second > 0);  // Admit counted this waiter
    if (--count->second == 0) counts_.erase(count);
    waiters_.erase(waiting);
  }
  return calls;
}

}  // namespace berth::placement
