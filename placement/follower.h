// Follower: brings the published state up to what others wrote, and keeps the other connections
// that are not the writer's. Thread-safe.
#ifndef BERTH_PLACEMENT_FOLLOWER_H_
#define BERTH_PLACEMENT_FOLLOWER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/condition.h"
#include "placement/database.h"
#include "placement/mutex.h"
#include "placement/publisher.h"

namespace berth::placement {

class Follower {
 public:
  // All that is pointed to must live as long.
  Follower(std::string database_url, Publisher* publisher, Condition* condition)
      : database_url_(std::move(database_url)), publisher_(publisher), condition_(condition) {}

  // See Ledger.
  absl::StatusOr<int> Follow();
  absl::Status WriteHeartbeat(const std::string& process,
                              const std::vector<std::pair<std::string, absl::Time>>& heard);
  // Makes a call that has lasted for `limit` fail.
  void Watch(absl::Duration limit);

 private:
  enum class Which { kLog, kHeartbeat };

  // The connection, opened where it is not.
  absl::StatusOr<std::shared_ptr<Database>> Open(Which which);
  // Loads the tables in the place of rows that the log has no more.
  absl::Status Reload(Database& database) ABSL_EXCLUSIVE_LOCKS_REQUIRED(following_);

  const std::string database_url_;
  Publisher* const publisher_;
  Condition* const condition_;
  Mutex following_;  // one step at a time
  Mutex beating_;    // one heartbeat at a time
  std::optional<absl::Duration> horizon_read_at_ ABSL_GUARDED_BY(following_);
  // Guards the pointers; what they point to is used under the mutexes above.
  Mutex mutex_;
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Database> heartbeat_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_FOLLOWER_H_
