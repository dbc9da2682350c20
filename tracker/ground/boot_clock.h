// BootClock: the boot clock of this machine, by which intervals are measured, as a clock of
// std::chrono. Unlike the wall clock, nobody sets it. Unlike std::chrono::steady_clock, it also
// runs while the machine sleeps.
#ifndef BERTH_TRACKER_GROUND_BOOT_CLOCK_H_
#define BERTH_TRACKER_GROUND_BOOT_CLOCK_H_

#include <time.h>

#include <chrono>

namespace berth::tracker {

struct BootClock {
  // The names that std::chrono asks of a clock.
  using duration = std::chrono::nanoseconds;              // NOLINT(readability-identifier-naming)
  using rep = duration::rep;                              // NOLINT(readability-identifier-naming)
  using period = duration::period;                        // NOLINT(readability-identifier-naming)
  using time_point = std::chrono::time_point<BootClock>;  // NOLINT(readability-identifier-naming)
  static constexpr bool is_steady = true;                 // NOLINT(readability-identifier-naming)

  static time_point now() {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return time_point(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
  }
};

// A time on the boot clock. The compiler refuses to compare it with the wall clock.
using MonotonicTime = BootClock::time_point;

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_GROUND_BOOT_CLOCK_H_
