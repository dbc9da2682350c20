// PassSchedule: decides when the passes of a node run. Neither waits nor starts a pass itself.
//
// Time is a parameter. Not thread-safe.
//
// Invariants:
//   1. Between Begin() and End() no pass is due: two passes never run at the same time (T-45).
//   2. All calls of Request during a pass lead to one more pass together (T-46).
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
    std::optional<std::chrono::milliseconds> interval;  // absent: no periodic passes (T-44)
    std::chrono::milliseconds first_delay_max{60000};   // bounds the random first delay (T-29)
    std::chrono::milliseconds event_gather{50};  // how long an event waits for further events
    uint64_t seed = 0;
  };

  // The first periodic pass is due after one interval and a random delay, counted from `now`. Each
  // periodic pass is due up to 5 % of the interval later than planned, by a random jitter (T-44).
  PassSchedule(const Options& options, MonotonicTime now);

  // Asks for a pass. The pass is due at `now`, or, for kEvent, `event_gather` later, so that events
  // that come close together lead to one pass. If an earlier request is due before, so is this one.
  void Request(PassCause cause, MonotonicTime now);
  // Asks for a pass that is due at `when`, for example to confirm an orphan. Of several such times,
  // only the earliest is kept, until a pass begins then or later.
  void RequestAt(MonotonicTime when);

  // Returns when the next pass is due. Returns nothing during a pass, after Stop(), and if there is
  // neither a planned pass nor a requested one.
  std::optional<MonotonicTime> NextDue() const;
  bool Due(MonotonicTime now) const;

  // Begins the pass that is due. Returns its causes: first those of Request, each once, in the
  // order in which they came; then kConfirm if a time of RequestAt has come, and kInterval if a
  // periodic pass is due. In the last case, plans the next periodic pass one interval after the
  // planned time of this one; if that is before `now`, one interval after `now` (T-44).
  //
  // REQUIRES: Due(now).
  std::vector<PassCause> Begin(MonotonicTime now);
  // REQUIRES: a pass has begun and has not ended.
  void End();
  // From then on no pass is due.
  void Stop() { stopped_ = true; }

 private:
  void PlanTick(MonotonicTime now);

  const Options options_;
  std::mt19937_64 random_;
  MonotonicTime base_;                 // when the next periodic pass is planned, without jitter
  std::optional<MonotonicTime> tick_;  // the same with jitter; absent: no periodic passes
  std::optional<MonotonicTime> requested_;
  std::optional<MonotonicTime> confirm_;
  std::vector<PassCause> causes_;
  bool running_ = false;
  bool stopped_ = false;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_SCHEDULE_H_
