// LeaseEnds: says when leases need a batch, and adds their work to that batch.
//
// Leases end by an ordinary command, ExpireLeases. The writer of every placement process makes it.
// A batch takes effect only on the state of the newest log row. So the writer sees which consumers
// other processes have released, and each is released once. Belongs to the writer's thread.
//
// Invariants:
//   1. After a failure to release leases, no batch is made for leases for 10 s.
//   2. Else a batch is due when a lease has ended, and, while leases exist, when the newest log row
//      is kLedgerTimeStepMax old. If all processes stopped then, the next start would add only this
//      much to the row's time, and leases would end late.
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

// The longest sleep of an idle writer. After the sleep the writer removes old request ids.
inline constexpr absl::Duration kIdleWaitMax = absl::Milliseconds(500);

class LeaseEnds {
 public:
  // All of these must outlive the object.
  LeaseEnds(const LedgerOptions& options, const Publisher* publisher, LedgerClock* clock)
      : options_(options), publisher_(publisher), clock_(clock) {}

  // Whether leases need a batch even if no command waits: a lease has ended, or leases exist and
  // the newest row of the log is old. A new log row then records the ledger time.
  bool WantBatch();
  // How long the writer may sleep if there is nothing to do.
  absl::Duration IdleWait();
  // To be called before `batch` decides commands of the queue. If a lease has ended, offers `batch`
  // a command that releases such leases. Else, if the newest log row is too old, makes `batch`
  // write a row.
  void Offer(Batch& batch);
  // To be called when PostgreSQL refused a batch that was made for leases. WantBatch then returns
  // false for 10 s.
  void PutOff();

 private:
  // Whether `position` has been the newest for kLedgerTimeStepMax or longer.
  bool TimeIsOld(const Position& position);

  const LedgerOptions& options_;
  const Publisher* const publisher_;
  LedgerClock* const clock_;
  // WantBatch returns false before this time of the boot clock. Shared with the callback of the
  // command, which may be called after this object is gone.
  const std::shared_ptr<std::atomic<int64_t>> wait_until_ns_ =
      std::make_shared<std::atomic<int64_t>>(0);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_LEASE_ENDS_H_
