// Heartbeats: the table in which each placement process notes which services it hears, and when it
// last heard each of them.
//
// The processes may have different clocks, and the clock of PostgreSQL may be set. So no time of
// one clock is compared with a time of another one. A process tells how long ago it heard a
// service: in its row that is written_at - heard_at. A reader adds for how long, by its own boot
// clock, it has seen the row unchanged. A row that the reader sees for the first time counts as
// just written.
//
// The table has one row per process, and every process reads the rows of the other processes. The
// table is not part of the ledger: no command writes it. Heartbeats owns one connection, which one
// call at a time uses. Thread-safe. All calls but ShutIfSlow wait for the database, so they belong
// on a worker thread.
#ifndef BERTH_PLACEMENT_STORE_HEARTBEATS_H_
#define BERTH_PLACEMENT_STORE_HEARTBEATS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"
#include "placement/store/database.h"

namespace berth::placement {

class Heartbeats {
 public:
  // `process`: the key of this process's row in the table.
  Heartbeats(std::string database_url, std::string process)
      : database_url_(std::move(database_url)), process_(std::move(process)) {}

  // Replaces this process's row. `heard`: the services whose streams this process holds, as
  // "HOST/BINARY", and how long ago it last heard each service. The caller does this every 10 s.
  absl::Status Write(const std::vector<std::pair<std::string, absl::Duration>>& heard);
  // Notes which rows of other processes have changed by `now`. The caller does this every 10 s, too:
  // a row that has not changed between two calls gets older.
  absl::Status Look(BootTime now);
  // The services that another process has heard, each with how long before `now` that was. Only
  // those that were heard at most `within` before or, as a row may say, after `now`.
  absl::StatusOr<std::map<std::string, absl::Duration>> HeardElsewhere(absl::Duration within,
                                                                       BootTime now);
  // Removes this process's row, and the rows of processes that have written nothing for a day.
  absl::Status RemoveOwn();
  // Makes the running call fail if it has waited for the database for `limit`.
  void ShutIfSlow(absl::Duration limit);

 private:
  // What is known about the row of another process.
  struct Row {
    int64_t written_at = 0;  // tells one writing of the row from the next
    BootTime seen_at;        // when the row was first seen with it
  };

  // Returns for how long the row of `process` has been seen with `written_at`.
  absl::Duration AgeOf(const std::string& process, int64_t written_at, BootTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(calling_);
  // Returns the connection; opens one if there is none.
  absl::StatusOr<std::shared_ptr<Database>> Open();

  const std::string database_url_;
  const std::string process_;
  Mutex calling_;  // held during a call; taken before mutex_
  Mutex mutex_;    // guards the pointer database_; the connection is used under calling_
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Row> rows_ ABSL_GUARDED_BY(calling_);  // by process
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_HEARTBEATS_H_
