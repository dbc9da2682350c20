#include "placement/writer/clock.h"

#include <algorithm>

namespace berth::placement {

void LedgerClock::See(const Position& newest, absl::Duration at) {
  if (seen_ && seen_->batch == newest.batch && seen_->revision == newest.revision) return;
  // An empty ledger has no time yet. Its time begins with the first row. If this process wrote that
  // row, the row has the time of this clock, so the clock need not be set.
  const bool had_none = seen_ && seen_->revision.number == 0;
  const bool begins = had_none && newest.ledger_time != given_;
  const bool first = !seen_ || seen_->revision.epoch != newest.revision.epoch;
  if (first && !had_none) {
    absl::Duration step = std::max(wall_clock_() - newest.ledger_time, absl::ZeroDuration());
    if (newest.revision.number > 0) step = std::min(step, kLedgerTimeStepMax);
    time_ = newest.ledger_time + step;
    time_at_ = at;
  } else if (begins || newest.ledger_time > time_ + (at - time_at_)) {
    time_ = newest.ledger_time;
    time_at_ = at;
  }
  seen_ = newest;
  seen_at_ = at;
}

absl::Time LedgerClock::Now(const Position& newest) {
  const absl::Duration at = boot_clock_();
  See(newest, at);
  const absl::Time now = std::max(time_ + (at - time_at_), newest.ledger_time);
  given_ = absl::FromUnixMicros(absl::ToUnixMicros(now));
  return given_;
}

absl::Duration LedgerClock::Standing(const Position& newest) {
  const absl::Duration at = boot_clock_();
  See(newest, at);
  return at - seen_at_;
}

}  // namespace berth::placement
