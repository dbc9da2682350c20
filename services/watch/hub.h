// WatchHub: all who watch this process: tells each what it wants, in order, without a gap.
//
// Follows the feed once for all, encodes each revision once, and hands it to those whom it
// concerns. Who begins in the past, or falls behind the feed, is brought up from the feed or from
// the log, at its own pace, and joins the others when it has caught up. The work is done by
// workers; the ledger's threads only wake them. Without a watcher it costs nothing. Thread-safe.
// Locks: this one's before a watcher's.
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

  // Begins to tell `watcher` what `request` asks for, or ends it as WatchService.Watch describes.
  void Open(const WatcherPtr& watcher, const pb::WatchRequest& request);
  // `watcher` has sent something: sees to it that it has more.
  void Continue(const WatcherPtr& watcher);
  // The stream is over.
  void Closed(const WatcherPtr& watcher);

  // One step of the timer, about once a second: empty messages, streams that are stuck, work for
  // which there was no worker.
  void Tick(absl::Time now);
  // Ends all streams with NOT_SERVING and refuses new ones.
  void EndAll();

  void Measure(Samples* samples) const;

 private:
  using Watchers = absl::flat_hash_set<Watcher*>;

  // What became of a piece of work for one watcher.
  enum class Progress { kMore, kNoMore, kLogIsTaken };

  void BeginAfter(const WatcherPtr& watcher, const pb::WatchRequest& request);
  void Work(const WatcherPtr& watcher);
  Progress WorkOnce(const WatcherPtr& watcher);
  Progress CatchUp(Watcher* watcher);
  absl::Status TellBatches(const std::vector<placement::FeedBatchPtr>& batches, Watcher* watcher);
  // Tells the operator of a watcher that has seen a revision which this ledger does not have.
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
  const WatchLimits limits_;
  placement::LogReader log_;
  int64_t feed_handle_ = 0;
  std::atomic<bool> following_{false};
  std::atomic<int> live_count_{0};

  placement::Mutex follow_mutex_;  // one follower at a time; before mutex_

  placement::Mutex names_mutex_;
  NameBook names_ ABSL_GUARDED_BY(names_mutex_);

  mutable placement::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<WatcherPtr> open_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<Watcher*> working_ ABSL_GUARDED_BY(mutex_);  // a worker is with them
  // Whether a worker reads the log, and who wants it next: the others do not stand and wait.
  bool log_is_taken_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<WatcherPtr> for_log_ ABSL_GUARDED_BY(mutex_);
  // Those who are told as things happen, up to which revision they have been; by what they filter.
  placement::Revision followed_ ABSL_GUARDED_BY(mutex_);
  placement::Revision untold_ ABSL_GUARDED_BY(mutex_);  // the last one that could not be told
  Watchers live_ ABSL_GUARDED_BY(mutex_);
  Watchers of_all_trees_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<placement::ProviderId, Watchers> by_root_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<placement::AggregateId, Watchers> by_aggregate_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_HUB_H_
