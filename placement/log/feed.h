// Feed: the last committed batches, in memory, for watchers and for what is pushed to trackers.
//
// A bounded ring, filled by the ledger in revision order. Readers poll with the revision they have;
// a wake-up tells them that there is more. Thread-safe.
#ifndef BERTH_PLACEMENT_LOG_FEED_H_
#define BERTH_PLACEMENT_LOG_FEED_H_

#include <cstdint>
#include <deque>
#include <functional>
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

// One command as it was committed.
struct FeedCommand {
  std::string actor;
  std::string request_id;
  std::shared_ptr<const Changes> changes;
  std::shared_ptr<const Scope> scope;
  Concerned concerned;  // the hosts and trees whose trackers are told
};
struct FeedBatch {
  Revision revision;
  absl::Time ledger_time;
  std::vector<FeedCommand> commands;
};
using FeedBatchPtr = std::shared_ptr<const FeedBatch>;

// The batch that made the state at `position`.
FeedBatchPtr FeedBatchOf(const Position& position, const std::vector<LogCommand>& commands);

class Feed {
 public:
  explicit Feed(int batches_max) : batches_max_(batches_max) {}

  // Appends. REQUIRES: its number follows the last one's.
  void Append(const FeedBatchPtr& batch);
  // Forgets everything and begins after `revision`: after a reload.
  void Restart(Revision revision);
  // The batches after `revision`, oldest first, `batches_max` at the most; none when it is the
  // newest or newer. kOutOfRange (REVISION_COMPACTED, with the oldest revision after which all are
  // here) when some of them are no longer here.
  absl::StatusOr<std::vector<FeedBatchPtr>> After(Revision revision, int batches_max) const;

  // Calls `wake` after each Append that touches the tree of `root` (none: any), and after each
  // Restart, from the appending thread: it must be quick, and must not take a lock that is held
  // while calling Subscribe or Unsubscribe, nor call those. Returns a handle for Unsubscribe, after
  // which `wake` is not called any more. Ten thousand subscribers with roots cost an Append
  // nothing.
  int64_t Subscribe(std::optional<ProviderId> root, std::function<void()> wake);
  void Unsubscribe(int64_t handle);

 private:
  struct Subscriber {
    std::optional<ProviderId> root;
    std::function<void()> wake;
  };

  void Wake(const FeedBatch& batch);

  const int batches_max_;
  mutable Mutex mutex_;
  std::deque<FeedBatchPtr> batches_ ABSL_GUARDED_BY(mutex_);
  Revision begin_ ABSL_GUARDED_BY(mutex_);  // the revision before the oldest batch

  // Held while waking, so that Unsubscribe waits for a wake that runs; never with mutex_.
  Mutex subscribers_mutex_;
  std::map<int64_t, Subscriber> subscribers_ ABSL_GUARDED_BY(subscribers_mutex_);
  // Handles by root; those without a root stand under none.
  std::map<std::optional<ProviderId>, std::set<int64_t>> by_root_
      ABSL_GUARDED_BY(subscribers_mutex_);
  int64_t next_handle_ ABSL_GUARDED_BY(subscribers_mutex_) = 1;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_FEED_H_
