// Heartbeats: the table in which each placement process notes which services it hears, and when it
// last heard each of them.
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
#include "placement/ground/mutex.h"
#include "placement/store/database.h"

namespace berth::placement {

class Heartbeats {
 public:
  // `process`: the key of this process's row in the table.
  Heartbeats(std::string database_url, std::string process)
      : database_url_(std::move(database_url)), process_(std::move(process)) {}

  // Replaces this process's row. `heard`: the services whose streams this process holds, as
  // "HOST/BINARY", and the time when it last heard each service. The caller does this every 10 s.
  absl::Status Write(const std::vector<std::pair<std::string, absl::Time>>& heard);
  // The services that another process has heard after `since`, each with the time when it was last
  // heard.
  absl::StatusOr<std::map<std::string, absl::Time>> HeardElsewhere(absl::Time since);
  // Removes this process's row, and the rows of processes that have written nothing for a day.
  absl::Status RemoveOwn();
  // Makes the running call fail if it has waited for the database for `limit`.
  void ShutIfSlow(absl::Duration limit);

 private:
  // Returns the connection; opens one if there is none.
  absl::StatusOr<std::shared_ptr<Database>> Open();

  const std::string database_url_;
  const std::string process_;
  Mutex calling_;  // held during a call; taken before mutex_
  Mutex mutex_;    // guards the pointer database_; the connection is used under calling_
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_HEARTBEATS_H_
