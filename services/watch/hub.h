// WatchHub: all watchers of this process. Sends each watcher the changes that the watcher asked
// for, in order and without a gap.
//
// A watcher is either live or behind. For all live watchers together, the hub follows the feed and
// encodes each revision once, and gives it to every watcher whose filter may pass it. A watcher is
// behind if it begins at a past revision, or if the feed no longer has its next batch. A worker
// then gives it revisions from the feed or from the log, as fast as the watcher takes messages,
// until the watcher is live. Workers do all of this; the threads of the ledger only wake them. If
// there is no watcher, the hub does nothing. Thread-safe. Locks are taken in this order:
// follow_mutex_, mutex_, the lock of a watcher.
//
// Invariants of the members that mutex_ guards:
//   1. Every live watcher is open. of_all_trees_, by_root_ and by_aggregate_ contain live watchers
//      only.
//   2. Every live watcher has been given all changes up to followed_ that it asked for. A watcher
//      that became live at a later revision skips the changes that it has already. While no watcher
//      is live, followed_ has no meaning: the next watcher that becomes live sets it.
//   3. The revision untold_ cannot be encoded. A watcher whose position is before untold_ never
//      becomes live: it must end with this error, and as a live watcher it would make all live
//      watchers fall behind.
//   4. A watcher in working_ has exactly one worker, or one entry in the workers' queue, or an
//      entry that was put out of the queue and is about to be refused. While a watcher is behind,
//      only this worker gives it messages.
//   5. log_is_taken_ is true while one worker reads the log. If a second worker needs the log for
//      its watcher meanwhile, it does not wait: it puts the watcher into for_log_. When the first
//      worker has read the log, it calls Continue for the first watcher of for_log_. Tick calls
//      Continue for all of them.
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
#include "placement/ground/boot_clock.h"
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

  // Begins to send `watcher` the changes that `request` asks for, or ends `watcher` with an error
  // as WatchService.Watch describes.
  void Open(const WatcherPtr& watcher, const pb::WatchRequest& request);
  // To be called when `watcher` may be able to take more messages. If it is behind and has no
  // worker, gives it a worker.
  void Continue(const WatcherPtr& watcher);
  // Forgets `watcher`. To be called once, when its stream is over.
  void Closed(const WatcherPtr& watcher);

  // One step of the timer, called about once a second. Sends empty messages to watchers that were
  // sent nothing for a while, ends streams that are stuck, and retries work for which no worker was
  // free.
  void Tick(placement::BootTime now);
  // Ends all streams with NOT_SERVING and refuses new ones.
  void EndAll();

  void Measure(Samples* samples) const;

 private:
  using Watchers = absl::flat_hash_set<Watcher*>;

  // The result of one round of work for a watcher that is behind.
  enum class Progress {
    kMore,        // the watcher may take another round
    kNoMore,      // the watcher is live, has ended, or has enough to send
    kLogIsTaken,  // the watcher needs the log, which another worker is reading
  };

  void BeginAfter(const WatcherPtr& watcher, const pb::WatchRequest& request);
  void Work(const WatcherPtr& watcher);
  Progress WorkOnce(const WatcherPtr& watcher);
  Progress CatchUp(Watcher* watcher);
  absl::Status TellBatches(const std::vector<placement::FeedBatchPtr>& batches, Watcher* watcher);
  // Writes to the process's log that a watcher has seen the revision `seen`, which this ledger does
  // not have.
  void Alarm(placement::Revision seen);
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
  placement::Revision untold_ ABSL_GUARDED_BY(mutex_);  // last revision that could not be encoded
  Watchers live_ ABSL_GUARDED_BY(mutex_);
  // The live watchers, in three groups: their filter names no trees and no aggregates; their filter
  // names trees; their filter names only aggregates.
  Watchers of_all_trees_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<placement::ProviderId, Watchers> by_root_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<placement::AggregateId, Watchers> by_aggregate_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_HUB_H_
