// DailyAmounts: how much a tracker brings into the ledger, by kind. DailyUse: how much of it an
// identity has brought in its present day.
//
// Plain values; time is a parameter.
#ifndef BERTH_SERVICES_ACCESS_DAILY_ALLOWANCE_H_
#define BERTH_SERVICES_ACCESS_DAILY_ALLOWANCE_H_

#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"

namespace berth::services {

// Also the limits of a day. Then kNoDailyLimit means that a kind has no limit.
struct DailyAmounts {
  int64_t fact_bytes = 0;  // about what the ledger writes for reports
  int64_t names = 0;       // new resource classes and traits, counted together
  int64_t providers = 0;   // new providers; the root of a new node is one
  int64_t nodes = 0;       // new nodes
  int64_t services = 0;    // new services

  friend bool operator==(const DailyAmounts&, const DailyAmounts&) = default;
};
inline constexpr int64_t kNoDailyLimit = std::numeric_limits<int64_t>::max();
inline constexpr DailyAmounts kNoDailyLimits = {kNoDailyLimit, kNoDailyLimit, kNoDailyLimit,
                                                kNoDailyLimit, kNoDailyLimit};

inline constexpr int64_t kBytesOfMib = 1 << 20;

// One kind, as the access file names and counts it.
struct DailyKind {
  const char* key;
  int64_t DailyAmounts::*amount;
  int64_t unit;  // one of the file is so many of `amount`
};
inline constexpr DailyKind kDailyKinds[] = {
    {"facts_mib", &DailyAmounts::fact_bytes, kBytesOfMib},
    {"names", &DailyAmounts::names, 1},
    {"providers", &DailyAmounts::providers, 1},
    {"nodes", &DailyAmounts::nodes, 1},
    {"services", &DailyAmounts::services, 1},
};
// The largest limit that the file may set, in its own units.
inline constexpr int64_t kDailyLimitMax = 1'000'000'000;

// What DailyUse::Take gave.
struct DailyGrant {
  DailyAmounts taken;           // what counts as used
  DailyAmounts left;            // what may be brought: `taken`, or kNoDailyLimit without a limit
  DailyAmounts limits;          // of the whole day
  placement::BootTime at = {};  // when it was taken, but not before the day from which it is
};

// A day begins with the first use, and lasts 24 hours. The next use after them begins the next day,
// in which nothing is used yet.
class DailyUse {
 public:
  static constexpr absl::Duration kDay = absl::Hours(24);

  // Counts `wanted` as used at `now`, of each kind as much as `limits` leave. The limits may change
  // between two calls.
  DailyGrant Take(const DailyAmounts& limits, const DailyAmounts& wanted, placement::BootTime now);
  // Takes `amounts` off what is used. Does nothing if a day has begun after `taken_at`. REQUIRES:
  // Take gave the amounts, and `taken_at` is DailyGrant::at.
  void GiveBack(const DailyAmounts& amounts, placement::BootTime taken_at);
  // Whether this is as good as a new DailyUse at `now`.
  bool IsOver(placement::BootTime now) const { return now >= begin_ + kDay; }
  const DailyAmounts& used() const { return used_; }

 private:
  placement::BootTime begin_ = -absl::InfiniteDuration();  // of the day
  DailyAmounts used_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_ACCESS_DAILY_ALLOWANCE_H_
