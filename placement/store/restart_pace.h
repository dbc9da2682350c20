// RestartPace: decides when a server that keeps ending is started again, and when it is given up.
//
// Pure: the caller passes the time. Not thread-safe.
#ifndef BERTH_PLACEMENT_STORE_RESTART_PACE_H_
#define BERTH_PLACEMENT_STORE_RESTART_PACE_H_

#include <cstddef>
#include <deque>
#include <optional>

#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"

namespace berth::placement {

class RestartPace {
 public:
  // A server may end at most kEndsMax times within kWindow.
  static constexpr size_t kEndsMax = 5;
  static constexpr absl::Duration kWindow = absl::Minutes(5);

  // Notes that the server ended at `now`. Returns how long to wait before it is started again: 0 s
  // after the first end within the window, then 1 s, 2 s, 4 s, 8 s. Returns nullopt if the server
  // ended more than kEndsMax times within the window: it is not started again.
  std::optional<absl::Duration> NoteEnd(BootTime now) {
    while (!ends_.empty() && now - ends_.front() > kWindow) ends_.pop_front();
    ends_.push_back(now);
    if (ends_.size() > kEndsMax) return std::nullopt;
    if (ends_.size() == 1) return absl::ZeroDuration();
    return absl::Seconds(1 << (ends_.size() - 2));
  }

 private:
  std::deque<BootTime> ends_;  // within the window; the oldest first
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_RESTART_PACE_H_
