#include "placement/writer/lease_ends.h"

#include <algorithm>
#include <optional>

#include "placement/state/lookup.h"

namespace berth::placement {
namespace {

// How long WantBatch returns false after the release of leases has failed.
constexpr absl::Duration kRefusedWait = absl::Seconds(10);

}  // namespace

bool LeaseEnds::WantBatch() {
  const StatePtr state = publisher_->Newest();
  const std::optional<absl::Time> end = FirstLeaseEnd(*state);
  if (!end || absl::ToInt64Nanoseconds(publisher_->boot_now()) < *wait_until_ns_) {
    return false;
  }
  return *end <= clock_->Now(state->position()) || TimeIsOld(state->position());
}

bool LeaseEnds::TimeIsOld(const Position& position) {
  return clock_->Standing(position) >= kLedgerTimeStepMax;
}

absl::Duration LeaseEnds::IdleWait() {
  const StatePtr state = publisher_->Newest();
  const std::optional<absl::Time> end = FirstLeaseEnd(*state);
  if (!end) return kIdleWaitMax;
  if (WantBatch()) return absl::ZeroDuration();
  const absl::Duration left = *end - clock_->Now(state->position());
  // A lease has ended, and releasing it failed. Offer or PutOff has set the time of the next
  // attempt.
  if (left <= absl::ZeroDuration()) return kIdleWaitMax;
  return std::clamp(left, absl::Milliseconds(1), kIdleWaitMax);
}

void LeaseEnds::Offer(Batch& batch) {
  // The newest state may be of another process, and newer than the base.
  const std::optional<absl::Time> end = FirstLeaseEnd(*batch.base());
  if (!end || !WantBatch()) return;
  if (*end > batch.now()) {
    if (TimeIsOld(batch.base()->position())) batch.ForceRow();
    return;
  }
  auto expiry = std::make_shared<Pending>();
  expiry->command.actor = kLeaseActor;
  expiry->command.body = ExpireLeases();
  expiry->deadline = absl::InfiniteDuration();
  const absl::Duration retry_at = publisher_->boot_now() + kRefusedWait;
  expiry->done = [retry_at, wait = wait_until_ns_](const Decision& decision) {
    if (!decision.status.ok()) *wait = absl::ToInt64Nanoseconds(retry_at);
  };
  batch.Offer(expiry, options_.batch_rows_max, true);
}

void LeaseEnds::PutOff() {
  *wait_until_ns_ = absl::ToInt64Nanoseconds(publisher_->boot_now() + kRefusedWait);
}

}  // namespace berth::placement
