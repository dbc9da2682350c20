#include "services/log/history_alarm.h"

#include "absl/strings/str_cat.h"
#include "placement/ground/boot_clock.h"
#include "services/log/log.h"

namespace berth::services {
namespace {

constexpr absl::Duration kApart = absl::Seconds(10);

}  // namespace

void AlarmOfHistory(absl::string_view client, placement::Revision seen,
                    placement::Revision newest) {
  static auto& pace = *new LinePace(kApart);
  int64_t omitted = 0;
  if (!pace.Lets(client, placement::BootNow(), &omitted)) return;
  Log(LogLevel::kError,
      absl::StrCat(client,
                   " has seen a revision that this ledger does not have: the database may "
                   "have been restored"),
      {{"seen_epoch", absl::StrCat(seen.epoch)},
       {"seen_revision", absl::StrCat(seen.number)},
       {"newest_epoch", absl::StrCat(newest.epoch)},
       {"newest_revision", absl::StrCat(newest.number)},
       {"omitted", omitted}});
}

}  // namespace berth::services
