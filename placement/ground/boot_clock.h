// BootNow: the boot clock of this machine, by which intervals are measured. Unlike the wall clock,
// nobody sets it. Unlike the steady clock, it also runs while the machine sleeps.
#ifndef BERTH_PLACEMENT_GROUND_BOOT_CLOCK_H_
#define BERTH_PLACEMENT_GROUND_BOOT_CLOCK_H_

#include <time.h>

#include "absl/time/time.h"

namespace berth::placement {

// A time on the boot clock: for how long the machine has been running then. So it is no absl::Time,
// and the compiler refuses to compare it with the wall clock. Boot clocks of two machines cannot be
// compared either: processes tell each other how long ago something was.
using BootTime = absl::Duration;

inline BootTime BootNow() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return absl::DurationFromTimespec(now);
}

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_GROUND_BOOT_CLOCK_H_
