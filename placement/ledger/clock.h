// LedgerClock: computes the ledger time, by which leases end, for this process.
//
// Belongs to the writer's thread. From the first position that the clock sees, ledger time runs as
// fast as the boot clock. A log row of another process moves it only forwards. So ledger time does
// not jump, and the time that deciding, committing and waiting for the lock take is not lost.
// Example: a row that says 12:00:00 and waited 3 s for its commit is followed by a batch at
// 12:00:03 or later.
//
// The wall clock is read once, for the first position, because nothing else tells how long no
// process ran.
#ifndef BERTH_PLACEMENT_LEDGER_CLOCK_H_
#define BERTH_PLACEMENT_LEDGER_CLOCK_H_

#include <functional>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "placement/state/state.h"

namespace berth::placement {

// A start moves ledger time towards the wall clock by this much at most.
inline constexpr absl::Duration kLedgerTimeStepMax = absl::Seconds(60);

class LedgerClock {
 public:
  LedgerClock(std::function<absl::Time()> wall_clock, std::function<absl::Duration()> boot_clock)
      : wall_clock_(std::move(wall_clock)), boot_clock_(std::move(boot_clock)) {}

  // The ledger time now, in whole microseconds, and never before that of `newest`, the newest known
  // position. The first position of a new epoch counts like the first position of a process: the
  // time of the lost epoch does not end the leases that are left.
  absl::Time Now(const Position& newest);
  // How long `newest` has been the newest position that this process knows.
  absl::Duration Standing(const Position& newest);

 private:
  // Takes note of `newest` at the boot time `at`.
  void See(const Position& newest, absl::Duration at);

  const std::function<absl::Time()> wall_clock_;
  const std::function<absl::Duration()> boot_clock_;
  std::optional<Position> seen_;  // the newest position so far
  absl::Duration seen_at_;        // when it was seen first, on the boot clock
  // Ledger time was `time_` when the boot clock showed `time_at_`.
  absl::Time time_;
  absl::Duration time_at_;
  absl::Time given_;  // the last result of Now
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_CLOCK_H_
