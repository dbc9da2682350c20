#include "services/access/call_rate.h"

#include <algorithm>

namespace berth::services {

absl::Duration TokenBucket::Take(const CallRate& rate, placement::BootTime now) {
  const absl::Duration one = absl::Seconds(1 / rate.calls_per_second);
  const absl::Duration all = one * static_cast<double>(rate.burst);
  // A rate that was changed may have made a burst shorter: nobody waits longer than the new one.
  full_at_ = std::min(std::max(full_at_, now), now + all);
  if (full_at_ + one > now + all) return full_at_ + one - (now + all);
  full_at_ += one;
  return absl::ZeroDuration();
}

}  // namespace berth::services
