// Follower: reads new log rows over a connection of its own, and applies them to the published
// state. Thread-safe.
#ifndef BERTH_PLACEMENT_PUBLISH_FOLLOWER_H_
#define BERTH_PLACEMENT_PUBLISH_FOLLOWER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/ground/mutex.h"
#include "placement/publish/health.h"
#include "placement/publish/publisher.h"
#include "placement/store/database.h"

namespace berth::placement {

class Follower {
 public:
  // The publisher and the health must outlive the follower.
  Follower(std::string database_url, Publisher* publisher, Health* health)
      : database_url_(std::move(database_url)), publisher_(publisher), health_(health) {}

  // Makes one step: see Ledger::Follow.
  absl::StatusOr<int> Follow();
  // Makes the present call of the connection fail, if this call has lasted for `limit` or longer.
  void Watch(absl::Duration limit);

 private:
  // Returns the connection. Opens a new one if there is none, or if the old one is broken.
  absl::StatusOr<std::shared_ptr<Database>> Open();
  // Reads how far back the log reaches (ReadHorizon) and tells health_; does nothing if that was
  // done in the last 5 s. If the oldest rows have a gap, tells the operator instead. `now`: of the
  // boot clock.
  absl::Status LookAtOldest(Database& database, absl::Duration now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(following_);
  // Loads the tables and gives the state to Publisher::Replace. To be called for CaughtUp::kReload.
  // May end the alarm that recovery is required (Health::Agree).
  absl::Status Reload(Database& database) ABSL_EXCLUSIVE_LOCKS_REQUIRED(following_);

  const std::string database_url_;
  Publisher* const publisher_;
  Health* const health_;
  Mutex following_;  // held by Follow, so that one call runs at a time
  std::optional<absl::Duration> horizon_read_at_ ABSL_GUARDED_BY(following_);
  // Guards the pointer `database_`. Only the thread that holds following_ makes calls over the
  // connection.
  Mutex mutex_;
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_PUBLISH_FOLLOWER_H_
