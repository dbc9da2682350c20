// HistoryAlarm: tells the operator that a client has seen a revision which this ledger does not
// have.
#ifndef BERTH_SERVICES_LOG_HISTORY_ALARM_H_
#define BERTH_SERVICES_LOG_HISTORY_ALARM_H_

#include "absl/strings/string_view.h"
#include "placement/values/types.h"

namespace berth::services {

// Writes a line to the server's log: `client`, for example "a watcher", has seen the revision
// `seen`, which this ledger does not have. Either this ledger has another batch under the number of
// `seen`, or `seen` is newer than `newest`. The cause is a restored database or, if `seen` is
// newer, a batch of another process that this process has not read yet. Writes at most one line in
// 10 s for each `client`, because after a restore all clients report the same. Thread-safe.
void AlarmOfHistory(absl::string_view client, placement::Revision seen, placement::Revision newest);

}  // namespace berth::services

#endif  // BERTH_SERVICES_LOG_HISTORY_ALARM_H_
