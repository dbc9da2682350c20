// DatabaseWatch: ends hanging calls to the database, on connections that have no other watcher.
//
// Watches each connection for as long as the connection exists. Thread-safe; nothing blocks.
#ifndef BERTH_PLACEMENT_STORE_DATABASE_WATCH_H_
#define BERTH_PLACEMENT_STORE_DATABASE_WATCH_H_

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "placement/ground/mutex.h"
#include "placement/store/database.h"

namespace berth::placement {

class DatabaseWatch {
 public:
  // Watches the connection `database` from now on.
  void Add(const std::shared_ptr<Database>& database);
  // Makes each call fail that has lasted for `limit`.
  void ShutIfSlow(absl::Duration limit);
  // Makes all running and later calls fail, because the process stops.
  void Close();

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<Database>> databases_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_DATABASE_WATCH_H_
