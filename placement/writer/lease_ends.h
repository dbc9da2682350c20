// LeaseEnds: says when leases need a batch, and makes the command that releases ended leases.
//
// This command, ExpireLeases, is decided like any other command. The writer of every placement
// process makes it. Each consumer is released once, because a batch takes effect only on the state
// of the newest log row, which shows what other processes have released. Belongs to the writer's
// thread.
//
// Invariants:
//   1. After a failure (of an ExpireLeases, or told by PutOff) no batch is due for up to 10 s.
//   2. Otherwise a batch is due when a lease has ended, and, if leases exist, when the newest log
//      row has been known for kLedgerTimeStepMax. The first process that starts after all stopped
//      adds at most this much to the row's ledger time. So with an older row leases would end late.
#ifndef BERTH_PLACEMENT_WRITER_LEASE_ENDS_H_
#define BERTH_PLACEMENT_WRITER_LEASE_ENDS_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "placement/publish/options.h"
#include "placement/publish/publisher.h"
#include "placement/writer/batch.h"
#include "placement/writer/clock.h"

namespace berth::placement {

// The longest wait of a writer that has nothing to do. After each wait, unless writes are refused,
// it looks whether request ids must be rotated (RequestRotation).
inline constexpr absl::Duration kIdleWaitMax = absl::Milliseconds(500);

class LeaseEnds {
 public:
  // All of these must outlive the object.
  LeaseEnds(const LedgerOptions& options, const Publisher* publisher, LedgerClock* clock)
      : options_(options), publisher_(publisher), clock_(clock) {}

  // Whether leases need a batch even if no command waits: a lease has ended; or leases exist, and
  // the newest log row has been known for kLedgerTimeStepMax: a new row must record ledger time.
  // False for a while after a failure (invariant 1, PutOff).
  bool WantBatch();
  // How long the writer may wait for commands: not at all if WantBatch(), else kIdleWaitMax, or
  // less if a lease ends before.
  absl::Duration IdleWait();
  // To be called before `batch` decides commands of the queue. Does nothing unless WantBatch(). If
  // a lease has ended, offers `batch` an ExpireLeases. Else makes it write a row, if the newest row
  // is old (invariant 2).
  void Offer(Batch& batch);
  // Makes WantBatch return false for up to 10 s. To be called when a batch that was made only for
  // leases, without a command, has failed.
  void PutOff();

 private:
  // Whether `position` has been the newest known one for kLedgerTimeStepMax or longer
  // (LedgerClock::Standing).
  bool TimeIsOld(const Position& position);

  const LedgerOptions& options_;
  const Publisher* const publisher_;
  LedgerClock* const clock_;
  // WantBatch returns false before this time of the boot clock. Shared with the callback of
  // ExpireLeases, which may be called after this object is gone.
  const std::shared_ptr<std::atomic<int64_t>> wait_until_ns_ =
      std::make_shared<std::atomic<int64_t>>(0);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_LEASE_ENDS_H_
