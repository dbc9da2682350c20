// The part of the writer that acts on leases that have ended by ledger time. It issues an ordinary
// command, ExpireLeases, which releases the consumers that have such a lease.
//
// The writer of every placement process does this, while it holds the ledger's lock in PostgreSQL.
// It then sees which consumers other processes have released, so each is released once.
#include <algorithm>
#include <memory>
#include <optional>

#include "placement/writer/writer.h"

namespace berth::placement {
namespace {

// How long LeasesWantBatch returns false after the release of leases has failed.
constexpr absl::Duration kRefusedWait = absl::Seconds(10);

}  // namespace

bool Writer::LeasesWantBatch() {
  const StatePtr state = publisher_->Newest();
  const std::optional<absl::Time> end = state->first_lease_end();
  if (!end || absl::ToInt64Nanoseconds(publisher_->boot_now()) < *leases_wait_until_ns_) {
    return false;
  }
  return *end <= clock_.Now(state->position()) || TimeIsOld(state->position());
}

// Whether `position` has been the newest for kLedgerTimeStepMax or longer. If all processes stopped
// then, the next start would add only kLedgerTimeStepMax to its time, and leases would end late.
bool Writer::TimeIsOld(const Position& position) {
  return clock_.Standing(position) >= kLedgerTimeStepMax;
}

absl::Duration Writer::IdleWait() {
  const StatePtr state = publisher_->Newest();
  const std::optional<absl::Time> end = state->first_lease_end();
  if (!end) return kIdleWaitMax;
  if (LeasesWantBatch()) return absl::ZeroDuration();
  const absl::Duration left = *end - clock_.Now(state->position());
  // A lease has ended, and releasing it failed. OfferExpiry or PutOffLeases has set the time of the
  // next attempt.
  if (left <= absl::ZeroDuration()) return kIdleWaitMax;
  return std::clamp(left, absl::Milliseconds(1), kIdleWaitMax);
}

void Writer::OfferExpiry(Batch& batch) {
  if (!LeasesWantBatch()) return;
  if (*batch.base()->first_lease_end() > batch.now()) {
    if (TimeIsOld(batch.base()->position())) batch.ForceRow();
    return;
  }
  auto expiry = std::make_shared<Pending>();
  expiry->command.actor = kLeaseActor;
  expiry->command.body = ExpireLeases();
  expiry->deadline = absl::InfiniteDuration();
  const absl::Duration retry_at = publisher_->boot_now() + kRefusedWait;
  expiry->done = [retry_at, wait = leases_wait_until_ns_](const Decision& decision) {
    if (!decision.status.ok()) *wait = absl::ToInt64Nanoseconds(retry_at);
  };
  batch.Offer(expiry, options_.batch_rows_max, true);
}

void Writer::PutOffLeases() {
  *leases_wait_until_ns_ = absl::ToInt64Nanoseconds(publisher_->boot_now() + kRefusedWait);
}

}  // namespace berth::placement
