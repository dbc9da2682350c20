// Heartbeats: the table in which each placement process says which services it hears, and when it
// last heard them.
//
// The table has one row per process, and every process reads the rows of the others. It is not part
// of the ledger: no command writes it. Heartbeats owns one connection, which one call at a time
// uses. Thread-safe. All calls but ShutIfSlow wait for the database, so they belong on a worker.
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
  // `process` names the row of this process.
  Heartbeats(std::string database_url, std::string process)
      : database_url_(std::move(database_url)), process_(std::move(process)) {}

  // Replaces this process's row: the services whose streams it holds, as "HOST/BINARY", and when it
  // last heard each of them. The caller does this every 10 s.
  absl::Status Write(const std::vector<std::pair<std::string, absl::Time>>& heard);
  // For each service that another process has heard after `since`: when it was last heard.
  absl::StatusOr<std::map<std::string, absl::Time>> HeardElsewhere(absl::Time since);
  // Removes this process's row, and the rows of processes that have written nothing for a day.
  absl::Status RemoveOwn();
  // Makes a call fail that has waited for the database for `limit`.
  void ShutIfSlow(absl::Duration limit);

 private:
  // The connection, opened if there is none.
  absl::StatusOr<std::shared_ptr<Database>> Open();

  const std::string database_url_;
  const std::string process_;
  Mutex calling_;  // held during a call; taken before mutex_
  Mutex mutex_;    // guards the pointer; the connection itself is used under calling_
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_HEARTBEATS_H_
