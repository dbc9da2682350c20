// Backoff: how long to wait before the next attempt. Now, Within: times by the clock by which gRPC
// measures deadlines, which nobody sets.
//
// Each wait is drawn at random between 100 ms and a limit. The limit begins at 200 ms and doubles
// with every failed attempt, up to 10 s. Not thread-safe.
#ifndef BERTH_SERVICES_CLIENT_CPP_BACKOFF_H_
#define BERTH_SERVICES_CLIENT_CPP_BACKOFF_H_

#include <grpc/support/time.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace berth::client {

inline constexpr absl::Duration kPauseMin = absl::Milliseconds(100);
inline constexpr absl::Duration kPauseMax = absl::Seconds(10);

// Random numbers of the machine. Opening the source takes a tenth of a millisecond on some machines,
// so each thread opens it once.
inline std::random_device& RandomSource() {
  thread_local std::random_device source;
  return source;
}

class Backoff {
 public:
  absl::Duration Next() {
    const absl::Duration limit = std::min(kPauseMax, kPauseMin * (int64_t{2} << attempts_));
    attempts_ = std::min(attempts_ + 1, 10);
    return kPauseMin + (limit - kPauseMin) * std::uniform_real_distribution<>(0, 1)(RandomSource());
  }
  // To be called after an attempt that succeeded: the next limit is the smallest one.
  void Reset() { attempts_ = 0; }

 private:
  int attempts_ = 0;
};

// The time since an arbitrary moment.
inline absl::Duration Now() {
  const gpr_timespec now = gpr_now(GPR_CLOCK_MONOTONIC);
  return absl::Seconds(now.tv_sec) + absl::Nanoseconds(now.tv_nsec);
}

// For what takes a deadline: `length` from the moment at which gRPC takes it.
inline gpr_timespec Within(absl::Duration length) {
  return gpr_time_from_nanos(absl::ToInt64Nanoseconds(length), GPR_TIMESPAN);
}

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_BACKOFF_H_
