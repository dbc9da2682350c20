#include "tracker/node/record_waiters.h"

#include <optional>

#include "tracker/claims/refusal.h"

namespace berth::tracker {
namespace {

// When the record of the instance, or of its open claim if there is no other, was last changed. A
// record may be large, so it is not copied. Nothing: neither is known.
std::optional<absl::Time> UpdatedAt(const NodeAccount& account, const Uuid& instance_uuid) {
  const auto recorded = account.instances().find(instance_uuid);
  if (recorded != account.instances().end()) return recorded->second.updated_at;
  const OpenClaim* const claim = account.OpenClaimOf(instance_uuid);
  return claim == nullptr ? std::nullopt : std::make_optional(claim->instance.updated_at);
}

}  // namespace

void RecordWaiters::Add(const Instance& known, ClaimCaller caller) {
  waiters_.emplace_back(known, std::move(caller));
}

// The times of two records tell which one is newer; their generations do not. A record with the
// same time as the one that the caller knows comes from the same commit, and so is at least as new.
void RecordWaiters::Answer(const NodeAccount& account, ClaimReplies* replies) {
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    const auto& [known, caller] = *waiter;
    const bool tracked = account.IsTracked(known.uuid);
    const std::optional<absl::Time> updated_at = UpdatedAt(account, known.uuid);
    const bool newer =
        updated_at && known.updated_at > absl::InfinitePast() && *updated_at >= known.updated_at;
    const bool known_here = !tracked || newer || account.HasInstance(known.uuid, known.generation);
    if (!known_here && !caller.gone()) {
      ++waiter;
      continue;
    }
    const absl::StatusOr<ClaimResult> answer =
        known_here
            ? absl::StatusOr<ClaimResult>(ClaimResult{{}, false, tracked})
            : RefuseClaim(ClaimRefusalKind::kTooLate, "placement has not sent the record yet");
    replies->Add(std::move(waiter->second), answer);
    waiter = waiters_.erase(waiter);
  }
}

void RecordWaiters::AnswerAll(const absl::Status& status, ClaimReplies* replies) {
  for (auto& [known, caller] : waiters_) replies->Add(std::move(caller), status);
  waiters_.clear();
}

}  // namespace berth::tracker
