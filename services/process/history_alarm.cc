#include "services/process/history_alarm.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/process/log.h"

namespace berth::services {
namespace {

constexpr absl::Duration kApart = absl::Seconds(10);

}  // namespace

void AlarmOfHistory(absl::string_view client, placement::Revision seen,
                    placement::Revision newest) {
  static std::atomic<int64_t> next_ns{0};
  const absl::Time now = absl::Now();
  int64_t next = next_ns;
  if (absl::ToUnixNanos(now) < next) return;
  if (!next_ns.compare_exchange_strong(next, absl::ToUnixNanos(now + kApart))) return;
  Log(LogLevel::kError,
      absl::StrCat(client,
                   " has seen a revision that this ledger does not have: the database may "
                   "have been restored"),
      {{"seen_epoch", absl::StrCat(seen.epoch)},
       {"seen_revision", absl::StrCat(seen.number)},
       {"newest_epoch", absl::StrCat(newest.epoch)},
       {"newest_revision", absl::StrCat(newest.number)}});
}

}  // namespace berth::services
