// WatchHub: all watchers of this process. Sends each watcher the changes that it wants, in order
// and without a gap.
//
// A watcher is either live or behind. The hub follows the feed once for all live watchers, encodes
// each revision once, and gives it to the watchers whose filter it may pass. A watcher that begins
// in the past, or falls out of the feed, is behind: a worker brings it up from the feed or from the
// log, as fast as the watcher takes messages, and then it becomes live. Workers do all of this; the
// threads of the ledger only wake them. Without a watcher the hub does nothing. Thread-safe. Locks:
// follow_mutex_, then the hub's, then a watcher's.
//
// Invariants of what mutex_ guards:
//   1. Every live watcher is open. of_all_trees_, by_root_ and by_aggregate_ name live watchers
//      only.
//   2. Every live watcher has been given all that it wants up to followed_. A watcher that became
//      live further on passes over what it has already been given. Without a live watcher followed_
//      has no meaning: the next watcher that becomes live sets it.
//   3. No watcher that has been given less than untold_ becomes live: revision untold_ cannot be
//      encoded, so that watcher must end with the reason, and would otherwise take the others
//      along.
//   4. A watcher in working_ has exactly one worker, or one place in the workers' queue. Only that
//      worker gives messages to a watcher that is behind.
//   5. log_is_taken_ while one worker reads the log. A worker whose watcher needs the log meanwhile
//      does not wait: it puts the watcher into for_log_. The worker that has read calls Continue
//      for the first of for_log_, and Tick does so for all.
#ifndef BERTH_SERVICES_WATCH_HUB_H_
#define BERTH_SERVICES_WATCH_HUB_H_

#include <atomic>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/ledger.h"
#include "placement/log/reader.h"
#include "services/process/metrics.h"
#include "services/process/workers.h"
#include "services/watch/watcher.h"

namespace berth::services {

class WatchHub {
 public:
  WatchHub(placement::Ledger* ledger, Workers* workers, const std::string& database_url);
  // REQUIRES: no stream is open.
  ~WatchHub();

  // Begins to send `watcher` what `request` asks for, or ends it as WatchService.Watch describes.
  void Open(const WatcherPtr& watcher, const pb::WatchRequest& request);
  // `watcher` may have room for more: if it is behind and idle, gives it a worker.
  void Continue(const WatcherPtr& watcher);
  // The stream is over, and `watcher` has ended. Called once.
  void Closed(const WatcherPtr& watcher);

  // One step of the timer, about once a second: sends empty messages to watchers that heard nothing
  // for a while, ends streams that are stuck, and retries work for which no worker was free.
  void Tick(absl::Time now);
  // Ends all streams with NOT_SERVING and refuses new ones.
  void EndAll();

  void Measure(Samples* samples) const;

 private:
  using Watchers = absl::flat_hash_set<Watcher*>;

  // What one round of work for a watcher that is behind came to.
  enum class Progress {
    kMore,        // the watcher may take another round
    kNoMore,      // it is live, has ended, or has enough to send
    kLogIsTaken,  // it needs the log, which another worker is reading
  };

  void BeginAfter(const WatcherPtr& watcher, const pb::WatchRequest& request);
  void Work(const WatcherPtr& watcher);
  Progress WorkOnce(const WatcherPtr& watcher);
  Progress CatchUp(Watcher* watcher);
  absl::Status TellBatches(const std::vector<placement::FeedBatchPtr>& batches, Watcher* watcher);
  bool TakeLog();
  void LeaveLog();
  bool Join(Watcher* watcher) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave(Watcher* watcher) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void Wake();
  void FollowFeed();
  bool FollowOnce();
  void Dispatch(const ToldRevision& told) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendBack();
  absl::StatusOr<ToldRevisionPtr> Told(const placement::FeedBatch& batch);

  placement::Ledger* const ledger_;
  Workers* const workers_;
  placement::LogReader log_;
  int64_t feed_handle_ = 0;
  std::atomic<bool> following_{false};
  std::atomic<int> live_count_{0};

  placement::Mutex follow_mutex_;  // one worker follows the feed at a time

  placement::Mutex names_mutex_;
  NameBook names_ ABSL_GUARDED_BY(names_mutex_);

  mutable placement::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<WatcherPtr> open_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<Watcher*> working_ ABSL_GUARDED_BY(mutex_);
  bool log_is_taken_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<WatcherPtr> for_log_ ABSL_GUARDED_BY(mutex_);
  placement::Revision followed_ ABSL_GUARDED_BY(mutex_);
  placement::Revision untold_ ABSL_GUARDED_BY(mutex_);  // the last one that could not be encoded
  Watchers live_ ABSL_GUARDED_BY(mutex_);
  // The live watchers by their filter: no trees named; trees named; only aggregates named.
  Watchers of_all_trees_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<placement::ProviderId, Watchers> by_root_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<placement::AggregateId, Watchers> by_aggregate_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_HUB_H_
