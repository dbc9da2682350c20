// Heartbeats: which services each placement process hears, as a row per process that all of them
// read.
//
// Not commands: the rows are no part of the ledger. One connection, kept and used by one call at a
// time; every call but ShutIfSlow blocks: for a worker. Thread-safe.
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

  // Replaces this process's row: the services whose streams it holds ("HOST/BINARY"), and when it
  // last heard each. The caller does so every 10 s.
  absl::Status Write(const std::vector<std::pair<std::string, absl::Time>>& heard);
  // When the other processes last heard each service, as far as it is after `since`.
  absl::StatusOr<std::map<std::string, absl::Time>> HeardElsewhere(absl::Time since);
  // Removes this process's row, and rows that nobody has written for a day.
  absl::Status RemoveOwn();
  // Makes a call that has lasted for `limit` fail.
  void ShutIfSlow(absl::Duration limit);

 private:
  // The connection, opened if there is none.
  absl::StatusOr<std::shared_ptr<Database>> Open();

  const std::string database_url_;
  const std::string process_;
  Mutex calling_;  // one call at a time; before mutex_
  Mutex mutex_;    // guards the pointer; what it points to is used under calling_
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_HEARTBEATS_H_
