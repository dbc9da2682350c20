// When the passes of a host run: decisions only, time is a parameter, the waiting is done
// elsewhere.
//
// Not thread-safe; its owner guards it.
//
// Invariants:
//   1. Never two passes at a time (T-45): after Begin() nothing is due before End().
//   2. Requests that come during a pass become exactly one more pass (T-46).
//   3. After Stop() nothing is due (T-47).
#ifndef BERTH_TRACKER_NODE_SCHEDULE_H_
#define BERTH_TRACKER_NODE_SCHEDULE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tracker/audit/accounting.h"

namespace berth::tracker {

enum class PassCause { kStart, kInterval, kEvent, kConfirm, kRequest, kReload, kReconnect };

const char* PassCauseName(PassCause cause);

class PassSchedule {
 public:
  struct Options {
    std::optional<std::chrono::milliseconds> interval;  // none: no periodic passes (T-44)
    std::chrono::milliseconds first_delay_max{60000};   // random delay before the first tick (T-29)
    std::chrono::milliseconds event_gather{50};  // events this close together become one pass
    uint64_t seed = 0;
  };

  // The first tick falls one interval and a random delay after `now`.
  PassSchedule(const Options& options, MonotonicTime now);

  // Asks for a pass; events wait a moment for their neighbours, everything else is due at once.
  void Request(PassCause cause, MonotonicTime now);
  // Asks for a pass at `when`, to confirm what the last one found.
  void RequestAt(MonotonicTime when);

  // When the next pass is due, or nothing: during a pass, after Stop, or when nobody wants one.
  std::optional<MonotonicTime> NextDue() const;
  bool Due(MonotonicTime now) const;

  // Starts the pass that is due; its causes, in the order in which they were first given. The tick
  // is counted from its planned time; ticks that were missed meanwhile are dropped (T-44).
  //
  // REQUIRES: Due(now).
  std::vector<PassCause> Begin(MonotonicTime now);
  void End();
  void Stop() { stopped_ = true; }

 private:
  void PlanTick(MonotonicTime now);

  const Options options_;
  std::mt19937_64 random_;
  MonotonicTime base_;                 // the last tick without its jitter
  std::optional<MonotonicTime> tick_;  // the next tick with its jitter
  std::optional<MonotonicTime> requested_;
  std::optional<MonotonicTime> confirm_;
  std::vector<PassCause> causes_;
  bool running_ = false;
  bool stopped_ = false;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_SCHEDULE_H_
