#include "services/access/daily_allowance.h"

#include <algorithm>

namespace berth::services {

DailyGrant DailyUse::Take(const DailyAmounts& limits, const DailyAmounts& wanted,
                          placement::BootTime now) {
  if (IsOver(now)) {
    begin_ = now;
    used_ = DailyAmounts();
  }
  DailyGrant grant;
  // Callers read the clock before they take the lock of AccessPolicy, so one may come after another
  // that has read it later and begun the day.
  grant.at = std::max(now, begin_);
  grant.limits = limits;
  for (const DailyKind& kind : kDailyKinds) {
    const int64_t limit = limits.*kind.amount;
    int64_t& used = used_.*kind.amount;
    // A limit that was lowered may be below what is used.
    const int64_t taken = std::min(wanted.*kind.amount, std::max<int64_t>(0, limit - used));
    used += taken;
    grant.taken.*kind.amount = taken;
    grant.left.*kind.amount = limit == kNoDailyLimit ? kNoDailyLimit : taken;
  }
  return grant;
}

void DailyUse::GiveBack(const DailyAmounts& amounts, placement::BootTime taken_at) {
  if (taken_at < begin_) return;
  for (const DailyKind& kind : kDailyKinds) used_.*kind.amount -= amounts.*kind.amount;
}

}  // namespace berth::services
