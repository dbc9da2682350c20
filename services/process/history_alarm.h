// HistoryAlarm: tells the operator that a client has seen a revision which this ledger does not have.
#ifndef BERTH_SERVICES_PROCESS_HISTORY_ALARM_H_
#define BERTH_SERVICES_PROCESS_HISTORY_ALARM_H_

#include "absl/strings/string_view.h"
#include "placement/values/types.h"

namespace berth::services {

// Writes a line to the server's log: `client`, for example "a watcher", has seen revision `seen`,
// which another batch has here, or which is newer than `newest`. Either the database was restored,
// or, if `seen` is newer, this process has not yet read what another process wrote. Writes one line
// in 10 s at the most: after a restore every client says the same. Thread-safe.
void AlarmOfHistory(absl::string_view client, placement::Revision seen, placement::Revision newest);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_HISTORY_ALARM_H_
