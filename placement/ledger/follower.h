// Follower: reads the log rows of other processes over its own connection and applies them to the
// published state. Thread-safe.
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
  // The objects behind the pointers must outlive the follower.
  Follower(std::string database_url, Publisher* publisher, Health* health)
      : database_url_(std::move(database_url)), publisher_(publisher), health_(health) {}

  // As Ledger::Follow.
  absl::StatusOr<int> Follow();
  // Shuts the connection if its present call has lasted for `limit`: the call fails.
  void Watch(absl::Duration limit);

 private:
  // The connection, which is opened if it is not open or is broken.
  absl::StatusOr<std::shared_ptr<Database>> Open();
  // Reads the oldest revision of the log, unless that was done a short time ago.
  absl::Status LookAtOldest(Database& database, absl::Duration now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(following_);
  // Loads the tables, because rows after the published state are no longer in the log.
  absl::Status Reload(Database& database) ABSL_EXCLUSIVE_LOCKS_REQUIRED(following_);

  const std::string database_url_;
  Publisher* const publisher_;
  Health* const health_;
  Mutex following_;  // one step at a time
  std::optional<absl::Duration> horizon_read_at_ ABSL_GUARDED_BY(following_);
  // Guards the pointer. The connection itself is guarded by following_.
  Mutex mutex_;
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_FOLLOWER_H_
