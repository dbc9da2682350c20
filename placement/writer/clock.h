// LedgerClock: computes the ledger time for this process. Leases end by ledger time.
//
// Belongs to the writer's thread. Within an epoch, ledger time runs at least as fast as the boot
// clock. So it includes the time that passes while a batch is decided, committed or waits for the
// lock. Example: a batch is decided at 12:00:00, and the commit takes 3 s. A batch that is decided
// after the commit has the ledger time 12:00:03 or later. A log row of another process can only
// move ledger time forwards, unless it is of a new epoch or the first row of an empty ledger.
//
// The wall clock is read only for the first position of this process or of a new epoch, because
// nothing else says for how long no process ran.
#ifndef BERTH_PLACEMENT_WRITER_CLOCK_H_
#define BERTH_PLACEMENT_WRITER_CLOCK_H_

#include <functional>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "placement/state/state.h"

namespace berth::placement {

// At the first position of a process or of a new epoch, ledger time may be behind the wall clock.
// It is then moved forward by this much at most. Exception: an empty ledger begins at the wall
// clock.
inline constexpr absl::Duration kLedgerTimeStepMax = absl::Seconds(60);

class LedgerClock {
 public:
  LedgerClock(std::function<absl::Time()> wall_clock, std::function<absl::Duration()> boot_clock)
      : wall_clock_(std::move(wall_clock)), boot_clock_(std::move(boot_clock)) {}

  // The ledger time now, in whole microseconds. Never before the ledger time of `newest`, the
  // newest known position. The first position of a new epoch is treated like the first position of
  // a process. So ledger time may then jump back: the time that passed in the lost epoch should not
  // end the remaining leases.
  absl::Time Now(const Position& newest);
  // How much time has passed since Now or Standing was first called with `newest`, the newest known
  // position.
  absl::Duration Standing(const Position& newest);

 private:
  // If `newest` is not seen_, notes that it was first seen at the time `at` of the boot clock, and
  // sets ledger time by it if needed.
  void See(const Position& newest, absl::Duration at);

  const std::function<absl::Time()> wall_clock_;
  const std::function<absl::Duration()> boot_clock_;
  std::optional<Position> seen_;  // the position that See got last; none before the first call
  absl::Duration seen_at_;        // when seen_ was seen first, on the boot clock
  // Ledger time was `time_` at the moment when the boot clock showed `time_at_`.
  absl::Time time_;
  absl::Duration time_at_;
  absl::Time given_;  // the last result of Now
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_CLOCK_H_
