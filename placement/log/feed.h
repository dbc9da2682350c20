// Feed: the newest committed batches, in memory, for watchers and for the pushes to trackers.
//
// The ledger appends batches in the order of revisions. The oldest batches are dropped when the
// feed holds more batches, changes or bytes than FeedLimits allows; a reader that needs dropped
// batches reads the log. A reader asks for the batches after the revision that it has. A wake-up
// says that there is a newer batch. Thread-safe.
//
// Invariants, checked at every Append and Restart:
//   1. The batches follow each other without a gap, and the first one follows begin_.
//   2. changes_ and bytes_ are the sums over batches_.
#ifndef BERTH_PLACEMENT_LOG_FEED_H_
#define BERTH_PLACEMENT_LOG_FEED_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/ground/mutex.h"
#include "placement/log/codec.h"
#include "placement/log/concerned.h"
#include "placement/log/scope.h"
#include "placement/values/change.h"
#include "placement/values/types.h"

namespace berth::placement {

// One committed command.
struct FeedCommand {
  std::string actor;
  std::string request_id;
  std::shared_ptr<const Changes> changes;
  std::shared_ptr<const Scope> scope;
  Concerned concerned;  // the hosts and nodes whose trackers get a push
  std::string reason = {};
  std::shared_ptr<const std::string> method = nullptr;  // as in Command
};
struct FeedBatch {
  Revision revision;  // as in Position::resume_point
  absl::Time ledger_time;
  std::vector<FeedCommand> commands;
  int64_t changes = 0;  // how many changes all commands have together
  int64_t bytes = 0;    // how much memory the batch takes; see change_bytes.h
};
using FeedBatchPtr = std::shared_ptr<const FeedBatch>;

// The limits of a feed. The newest batch is kept even if it alone exceeds one of them.
struct FeedLimits {
  int64_t batches = std::numeric_limits<int64_t>::max();
  int64_t changes = std::numeric_limits<int64_t>::max();
  int64_t bytes = std::numeric_limits<int64_t>::max();
};

// The batch of `commands` that made the state at `position`, with its changes and bytes counted.
FeedBatchPtr FeedBatchOf(const Position& position, const std::vector<LogCommand>& commands);

// The refusal kFailedPrecondition / REVISION_LOST for a reader that asks for the batches after
// `wanted`. `there`: the revision of another history that now has the number of `wanted`.
absl::Status RevisionLost(Revision wanted, Revision there);

class Feed {
 public:
  explicit Feed(const FeedLimits& limits) : limits_(limits) {}

  // Appends `batch`, and wakes nobody. REQUIRES: its revision number is one more than that of the
  // newest batch.
  void Append(const FeedBatchPtr& batch);
  // Wakes all subscribers. To be called after one or more calls of Append.
  void Wake();
  // Forgets all batches and wakes all subscribers; the next batch will follow `revision`. Called
  // when the ledger has loaded its tables anew.
  void Restart(Revision revision);
  // The batches after `revision`, oldest first, at most `batches_max`. Nothing if `revision` is the
  // newest one or newer. Fails
  // - with kOutOfRange / REVISION_COMPACTED, if some of these batches were dropped. The refusal
  //   names the oldest revision after which the feed has all batches;
  // - with kFailedPrecondition / REVISION_LOST, if another batch has the number of `revision`.
  absl::StatusOr<std::vector<FeedBatchPtr>> After(Revision revision, int batches_max) const;

  // Calls `wake` at each Wake and after each Restart, on the thread that calls them, so it must be
  // quick. It must not call Subscribe or Unsubscribe, nor take a lock that another thread may hold
  // during a call of Subscribe or Unsubscribe. Returns a handle for Unsubscribe; after Unsubscribe
  // `wake` is not called any more.
  int64_t Subscribe(std::function<void()> wake);
  void Unsubscribe(int64_t handle);

 private:
  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const FeedLimits limits_;
  mutable Mutex mutex_;
  std::deque<FeedBatchPtr> batches_ ABSL_GUARDED_BY(mutex_);
  Revision begin_ ABSL_GUARDED_BY(mutex_);  // the revision before the oldest batch
  int64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;

  // Held during wake-ups, so that Unsubscribe waits for a wake-up that runs. Never held together
  // with mutex_.
  Mutex subscribers_mutex_;
  std::map<int64_t, std::function<void()>> subscribers_ ABSL_GUARDED_BY(subscribers_mutex_);
  int64_t next_handle_ ABSL_GUARDED_BY(subscribers_mutex_) = 1;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_FEED_H_
