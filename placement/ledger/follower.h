// Follower: brings the published state up to what others wrote, over a connection of its own.
// Thread-safe.
#ifndef BERTH_PLACEMENT_LEDGER_FOLLOWER_H_
#define BERTH_PLACEMENT_LEDGER_FOLLOWER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/health.h"
#include "placement/ledger/publisher.h"
#include "placement/store/database.h"

namespace berth::placement {

class Follower {
 public:
  // All that is pointed to must live as long.
  Follower(std::string database_url, Publisher* publisher, Condition* condition)
      : database_url_(std::move(database_url)), publisher_(publisher), condition_(condition) {}

  // See Ledger.
  absl::StatusOr<int> Follow();
  // Makes a call that has lasted for `limit` fail.
  void Watch(absl::Duration limit);

 private:
  // The connection, opened if there is none.
  absl::StatusOr<std::shared_ptr<Database>> Open();
  // Loads the tables in the place of rows that the log has no more.
  absl::Status Reload(Database& database) ABSL_EXCLUSIVE_LOCKS_REQUIRED(following_);

  const std::string database_url_;
  Publisher* const publisher_;
  Condition* const condition_;
  Mutex following_;  // one step at a time
  std::optional<absl::Duration> horizon_read_at_ ABSL_GUARDED_BY(following_);
  // Guards the pointer; what it points to is used under following_.
  Mutex mutex_;
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_FOLLOWER_H_
