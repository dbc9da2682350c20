// Feed: the newest committed batches, in memory, for watchers and for the pushes to trackers.
//
// The ledger appends batches in the order of revisions. The oldest batches go when the feed holds
// more batches, changes or bytes than FeedLimits allows; a reader that needs them reads the log.
// Readers ask for the batches after the revision that they have; a wake-up tells them that there is
// a newer one. Thread-safe.
//
// Invariants, checked at every Append and Restart:
//   1. The batches follow each other without a gap, and the first follows begin_.
//   2. changes_ and bytes_ are the sums over batches_.
#ifndef BERTH_PLACEMENT_LOG_FEED_H_
#define BERTH_PLACEMENT_LOG_FEED_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/ground/mutex.h"
#include "placement/log/codec.h"
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
  // The roots of the trees that the command touched. If it moved a provider to another tree, the
  // root before the move and the one after it.
  std::vector<ProviderId> roots;
};
struct FeedBatch {
  Revision revision;  // with its batch
  absl::Time ledger_time;
  std::vector<FeedCommand> commands;
  int64_t changes = 0;  // of all commands
  int64_t bytes = 0;    // of memory that the batch takes; see change_bytes.h
};
using FeedBatchPtr = std::shared_ptr<const FeedBatch>;

// How much a feed holds at the most. The newest batch stays even if it alone is more.
struct FeedLimits {
  int64_t batches = std::numeric_limits<int64_t>::max();
  int64_t changes = std::numeric_limits<int64_t>::max();
  int64_t bytes = std::numeric_limits<int64_t>::max();
};

// The batch that made the state at `position`, with its changes and bytes counted.
FeedBatchPtr FeedBatchOf(const Position& position, const std::vector<LogCommand>& commands);

// The refusal of a reader that has seen `wanted`, whose number belongs to `there` now:
// kFailedPrecondition / REVISION_LOST.
absl::Status RevisionLost(Revision wanted, Revision there);

class Feed {
 public:
  explicit Feed(const FeedLimits& limits) : limits_(limits) {}

  // Appends `batch`. REQUIRES: its revision number is one more than that of the batch before.
  void Append(const FeedBatchPtr& batch);
  // Forgets all batches; the next one follows `revision`. For a ledger that has loaded its tables
  // anew.
  void Restart(Revision revision);
  // The batches after `revision`, oldest first, at most `batches_max`. Nothing if `revision` is the
  // newest one or newer. Fails with kOutOfRange / REVISION_COMPACTED if some of these batches are
  // gone; the refusal names the oldest revision after which all batches are here. Fails with
  // kFailedPrecondition / REVISION_LOST if another batch has the number of `revision`.
  absl::StatusOr<std::vector<FeedBatchPtr>> After(Revision revision, int batches_max) const;

  // Calls `wake` after each Append of a batch that touches the tree of `root`, and after each
  // Restart. No root: after every Append. `wake` runs on the thread that appends, so it must be
  // quick. It must not call Subscribe or Unsubscribe, nor take a lock that another thread holds
  // while it calls one of them. Returns a handle for Unsubscribe, after which `wake` is not called
  // any more. The cost of an Append does not grow with the number of subscribers whose trees it
  // does not touch.
  int64_t Subscribe(std::optional<ProviderId> root, std::function<void()> wake);
  void Unsubscribe(int64_t handle);

 private:
  struct Subscriber {
    std::optional<ProviderId> root;
    std::function<void()> wake;
  };

  void Wake(const FeedBatch& batch);
  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const FeedLimits limits_;
  mutable Mutex mutex_;
  std::deque<FeedBatchPtr> batches_ ABSL_GUARDED_BY(mutex_);
  Revision begin_ ABSL_GUARDED_BY(mutex_);  // the revision before the oldest batch
  int64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;

  // Held during wake-ups, so that Unsubscribe waits for one that runs. Never held with mutex_.
  Mutex subscribers_mutex_;
  std::map<int64_t, Subscriber> subscribers_ ABSL_GUARDED_BY(subscribers_mutex_);
  // Handles by root; under nullopt those of subscribers without a root.
  std::map<std::optional<ProviderId>, std::set<int64_t>> by_root_
      ABSL_GUARDED_BY(subscribers_mutex_);
  int64_t next_handle_ ABSL_GUARDED_BY(subscribers_mutex_) = 1;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_FEED_H_
