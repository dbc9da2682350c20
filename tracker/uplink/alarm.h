// Alarm: calls a function once, on a thread of gRPC, when a time has passed or Hurry() is called.
//
// Not thread-safe. Set() and Hurry() never call the function themselves, so they may be called
// under a lock that the function takes. The destructor does not wait for the function: after Set(),
// the function is called in any case.
#ifndef BERTH_TRACKER_UPLINK_ALARM_H_
#define BERTH_TRACKER_UPLINK_ALARM_H_

#include <grpc/support/time.h>
#include <grpcpp/alarm.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "tracker/ground/boot_clock.h"

namespace berth::tracker {

class Alarm {
 public:
  // Calls `ring` after `wait`, or at once if `wait` is negative.
  //
  // REQUIRES: the function of the last Set() has been called. It may still run.
  void Set(std::chrono::nanoseconds wait, std::function<void()> ring) {
    // gRPC keeps the function in its alarm while the function runs. A function that sets the next
    // alarm therefore needs a new alarm of gRPC.
    alarm_.emplace();
    const int64_t nanos = std::max<int64_t>(0, wait.count());
    due_ = BootClock::now() + std::chrono::nanoseconds(nanos);
    alarm_->Set(
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(nanos, GPR_TIMESPAN)),
        [ring = std::move(ring)](bool) { ring(); });
  }
  // Makes gRPC call the function now, if it has not been called yet.
  void Hurry() {
    if (alarm_) alarm_->Cancel();
  }
  // Makes gRPC call the function now, if its time has passed. The threads of gRPC wait until a time
  // of the wall clock: if the clock is set back by an hour, they wait an hour longer.
  void HurryIfLate() {
    if (BootClock::now() > due_) Hurry();
  }

 private:
  MonotonicTime due_;
  std::optional<grpc::Alarm> alarm_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_ALARM_H_
