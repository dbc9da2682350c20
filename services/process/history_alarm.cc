#include "services/process/history_alarm.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"
#include "services/process/log.h"

namespace berth::services {
namespace {

constexpr absl::Duration kApart = absl::Seconds(10);

}  // namespace

void AlarmOfHistory(absl::string_view client, placement::Revision seen,
                    placement::Revision newest) {
  static placement::Mutex mutex;
  static auto& next =
      *new std::map<std::string, placement::BootTime>();  // the next line, by client
  {
    const placement::MutexLock lock(&mutex);
    placement::BootTime& allowed =
        next.try_emplace(std::string(client), -absl::InfiniteDuration()).first->second;
    const placement::BootTime now = placement::BootNow();
    if (now < allowed) return;
    allowed = now + kApart;
  }
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
