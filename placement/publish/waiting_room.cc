#include "placement/publish/waiting_room.h"

#include <algorithm>
#include <iterator>
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
      share_(static_cast<size_t>(std::max(waiters_max / kOwnersSharing, 1))),
      next_(waiters_.end()) {
  BERTH_CHECK(waiters_max >= 0);  // an option
}

bool WaitingRoom::UsesItsShare(const std::string& owner) const {
  const auto count = counts_.find(owner);
  return count != counts_.end() && count->second >= std::max(share_, FreePlaces() / 2);
}

absl::Status WaitingRoom::Admit(Waiter* waiter) {
  const bool to_yard = UsesItsShare(waiter->call.owner);
  if (to_yard && yard_.size() >= waiters_max_) return TooManyOfOwnerWait();
  if (!to_yard && FreePlaces() == 0) return TooManyWait();
  if (!to_yard) ++counts_[waiter->call.owner];
  const Revision minimum = waiter->minimum;
  const auto place = waiters_.emplace(minimum, Place{std::move(*waiter), std::nullopt});
  if (to_yard) place->second.in_yard = yard_.insert(yard_.end(), place);
  return absl::OkStatus();
}

std::vector<WaitingRoom::Call> WaitingRoom::TakeUpTo(Revision revision, AnswerFor answer_for) {
  return Take(waiters_.upper_bound(revision), answer_for);
}

std::vector<WaitingRoom::Call> WaitingRoom::TakeAny(AnswerFor answer_for) {
  return Take(waiters_.end(), answer_for);
}

std::vector<WaitingRoom::Call> WaitingRoom::Take(Waiters::iterator end, AnswerFor answer_for) {
  std::vector<Call> calls;
  for (auto at = waiters_.begin(); at != end;) at = Ask(at, answer_for, &calls);
  return calls;
}

std::vector<WaitingRoom::Call> WaitingRoom::TakeSome(int count, AnswerFor answer_for) {
  std::vector<Call> calls;
  const size_t asked = std::min(static_cast<size_t>(count), waiters_.size());
  for (size_t i = 0; i < asked; ++i) {
    if (next_ == waiters_.end()) next_ = waiters_.begin();
    next_ = Ask(next_, answer_for, &calls);
  }
  return calls;
}

std::vector<WaitingRoom::Call> WaitingRoom::ClearYard(int count) {
  std::vector<Call> calls;
  for (int i = 0; i < count && !yard_.empty(); ++i) {
    const Waiters::iterator oldest = yard_.front();
    const std::string& owner = oldest->second.waiter.call.owner;
    const bool is_above_share = UsesItsShare(owner);
    if (!is_above_share && FreePlaces() > 0) {
      ++counts_[owner];
      oldest->second.in_yard.reset();
      yard_.pop_front();
      continue;
    }
    const absl::Status why = is_above_share ? TooManyOfOwnerWait() : TooManyWait();
    Ask(
        oldest, [&why](const Waiter&) { return Answer(why); }, &calls);
  }
  return calls;
}

WaitingRoom::Waiters::iterator WaitingRoom::Ask(Waiters::iterator at, AnswerFor answer_for,
                                                std::vector<Call>* calls) {
  Waiter& waiter = at->second.waiter;
  std::optional<Answer> answer = answer_for(waiter);
  if (!answer) return std::next(at);
  calls->emplace_back([ready = std::move(waiter.ready), answer = *std::move(answer)]() mutable {
    ready(std::move(answer));
  });
  if (at->second.in_yard) {
    yard_.erase(*at->second.in_yard);
  } else {
    const auto count = counts_.find(waiter.call.owner);
    BERTH_CHECK(count != counts_.end() && count->second > 0);  // it was counted when it came in
    if (--count->second == 0) counts_.erase(count);
  }
  const bool was_next = next_ == at;
  const auto next = waiters_.erase(at);
  if (was_next) next_ = next;
  return next;
}

}  // namespace berth::placement
