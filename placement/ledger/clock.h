// LedgerClock: what ledger time is now, as this process reckons it.
//
// Belongs to the writer's thread. From the first position that it sees, it runs at the pace of the
// boot clock; the time of a row that another process wrote moves it only forwards. So whoever
// writes, and however many, ledger time runs as fast as time does: no row makes it jump, and what
// deciding, committing and waiting for the lock took is not lost. The wall clock counts once, for
// the first position: how long nobody ran is otherwise not known.
#ifndef BERTH_PLACEMENT_LEDGER_CLOCK_H_
#define BERTH_PLACEMENT_LEDGER_CLOCK_H_

#include <functional>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "placement/state/state.h"

namespace berth::placement {

// After a start ledger time follows the wall clock, this far at the most.
inline constexpr absl::Duration kLedgerTimeStepMax = absl::Seconds(60);

class LedgerClock {
 public:
  LedgerClock(std::function<absl::Time()> wall_clock, std::function<absl::Duration()> boot_clock)
      : wall_clock_(std::move(wall_clock)), boot_clock_(std::move(boot_clock)) {}

  // The time now, in whole microseconds, never before that of `newest`, the newest position that is
  // known. It is the first one of an epoch as it is of a process: what was lost, time included,
  // does not end the leases that are left.
  absl::Time Now(const Position& newest);
  // Since when `newest` has been the newest, as far as this process knows.
  absl::Duration Standing(const Position& newest);

 private:
  void See(const Position& newest, absl::Duration at);

  const std::function<absl::Time()> wall_clock_;
  const std::function<absl::Duration()> boot_clock_;
  std::optional<Position> seen_;  // the last one
  absl::Duration seen_at_;
  // It was `time_` when the boot clock stood at `time_at_`.
  absl::Time time_;
  absl::Duration time_at_;
  absl::Time given_;  // what Now said last
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_CLOCK_H_
