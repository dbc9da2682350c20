// CallRate: how often an identity may call. TokenBucket: how much of it the identity has left.
//
// Plain values; time is a parameter.
#ifndef BERTH_SERVICES_ACCESS_CALL_RATE_H_
#define BERTH_SERVICES_ACCESS_CALL_RATE_H_

#include <cstdint>

#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"

namespace berth::services {

struct CallRate {
  double calls_per_second = 0;  // on average; kCallsPerSecondMin..kCallsPerSecondMax
  int64_t burst = 0;            // how many calls may come at once; 1..kBurstMax

  friend bool operator==(const CallRate&, const CallRate&) = default;
};
inline constexpr double kCallsPerSecondMin = 0.001;
inline constexpr double kCallsPerSecondMax = 1e6;
inline constexpr int64_t kBurstMax = 1'000'000;

// Has one token for each call that may be made. A new bucket is full: it has `burst` tokens. It
// fills by `calls_per_second` tokens a second. The rate may change between two calls.
class TokenBucket {
 public:
  // Takes a token at `now`. Returns zero if there was one; otherwise takes none, and returns for how
  // long the caller must wait until there is one.
  absl::Duration Take(const CallRate& rate, placement::BootTime now);
  // Whether the bucket is as good as a new one at `now`.
  bool IsFull(placement::BootTime now) const { return now >= full_at_; }

 private:
  // All that counts is when the bucket will be full: each call moves this moment by the time that
  // one token takes.
  placement::BootTime full_at_ = -absl::InfiniteDuration();
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_ACCESS_CALL_RATE_H_
