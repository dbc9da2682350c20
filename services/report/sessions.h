// ReportSessions: the streams of all trackers that are connected to this process, and what the
// streams share.
//
// It has five jobs. It knows which stream owns which service and which nodes. It follows the feed
// once for all streams, and gives each stream the commands that concern it. It limits how
// many nodes send a snapshot at a time. It keeps the audit orders that are not answered yet. It
// calls Tick of the streams that asked for it. Thread-safe. Locks are taken in this order:
// follow_mutex_, mutex_, the locks of a stream, then dispatched_mutex_ or tick_mutex_. A stream must
// not call ReportSessions while it holds its own lock, except for dispatched(). Under mutex_ nobody
// looks at the changes of a command: the owners of streams are found there and told afterwards.
#ifndef BERTH_SERVICES_REPORT_SESSIONS_H_
#define BERTH_SERVICES_REPORT_SESSIONS_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/placement/v1/report.pb.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/ledger.h"
#include "placement/log/feed.h"
#include "services/process/metrics.h"
#include "services/process/workers.h"
#include "services/report/connections.h"
#include "services/report/liveness_recorder.h"
#include "services/report/snapshot_slots.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

struct SessionSettings {
  // Each command that a stream submits to the ledger has its deadline this much later.
  absl::Duration settle_within = absl::Seconds(30);
  bool enable_new_services = true;  // false: the services of new trackers are disabled (T-296)
  // For tests. Called on a worker, without a lock, before it fills a slice of a push. Null: nothing
  // is called.
  std::function<void()> before_fill = nullptr;
};

class ReportSessions {
 public:
  using AuditAnswer = std::function<void(const absl::StatusOr<pb::AuditSummary>&)>;

  ReportSessions(placement::Ledger* ledger, Workers* workers, LivenessRecorder* recorder,
                 const SessionSettings& settings = {});
  // REQUIRES: no stream is open.
  ~ReportSessions();

  placement::Ledger* ledger() const { return ledger_; }
  Workers* workers() const { return workers_; }
  Liveness& liveness() { return recorder_->liveness(); }
  absl::Duration heartbeat_interval() const { return recorder_->heartbeat_interval(); }
  const SessionSettings& settings() const { return settings_; }

  // Returns the revision up to which every command has been given to each stream that owns a tree
  // which the command changed.
  placement::Revision dispatched() const;

  // To be called when a stream has opened, and once when it has ended.
  void Opened(const TrackerStreamPtr& stream);
  void Closed(const TrackerStreamPtr& stream);
  // Called when the service that the stream's Hello named has been registered. Makes the stream the
  // owner of its service and of `nodes`, and of no other node. Ends the stream that owned the
  // service before. Fails, and changes nothing: kUnavailable / NOT_SERVING if all streams are being
  // ended, kAborted / TRACKER_FENCED if this one has ended or a newer one replaced it.
  absl::Status Attach(const TrackerStreamPtr& stream,
                      const std::vector<placement::ProviderId>& nodes);
  // Adds `node` to the nodes that the stream owns. Does nothing if the stream owns no service.
  void Own(const TrackerStreamPtr& stream, placement::ProviderId node);
  // Makes the next Tick call the stream's Tick.
  void TickLater(const TrackerStreamPtr& stream);
  // Returns whether `node` may send its snapshot now. If false, the node's stream is sent an order
  // for a snapshot later.
  bool AskForSnapshot(placement::ProviderId node);
  void SnapshotTaken(placement::ProviderId node);

  // Orders an audit of `node`. Calls `answer` once: with the summary of the audit when the audit is
  // done; with OVERLOADED if too many orders are open; with NOT_SERVING if no stream owns the node,
  // or if all streams are being ended; with kDeadlineExceeded when `deadline` passes.
  void Audit(placement::ProviderId node, placement::BootTime deadline, const AuditAnswer& answer);
  void AuditDone(const pb::AuditDone& done);

  // One step of the timer, called about once a second. Orders the snapshots that are due, answers
  // the audit orders whose deadline has passed, and calls Tick of the streams that TickLater named.
  void Tick(placement::BootTime now);
  // Ends all streams with NOT_SERVING, answers all audit orders, and refuses new streams and
  // orders.
  void EndAll();

  void Measure(Samples* samples) const;

 private:
  struct Order {
    placement::ProviderId node;
    placement::BootTime deadline;
    AuditAnswer answer;
  };

  void Wake();
  void FollowFeed();
  bool FollowOnce();
  void BeginAnew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(follow_mutex_);
  void NoteDispatched(placement::Revision revision);
  void Dispatch(const placement::FeedBatch& batch);
  // Tells the Liveness, and the streams that must end, which services `changes` writes or removes.
  // Returns how many changes there are.
  int64_t DispatchServices(const placement::Changes& changes);
  // Ends the stream of the service if the newest record of the service names another tracker process,
  // or if there is none (T-384). A change that is dispatched late may be older than the stream.
  void DispatchService(const Liveness::Key& key);
  void OrderSnapshots(placement::BootTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  placement::Ledger* const ledger_;
  Workers* const workers_;
  LivenessRecorder* const recorder_;
  const SessionSettings settings_;
  int64_t feed_handle_ = 0;
  std::atomic<bool> following_{false};
  std::atomic<int64_t> visits_{0};  // how many changes Dispatch has looked at, for all streams

  mutable placement::Mutex follow_mutex_;  // one worker follows the feed at a time
  placement::Revision followed_ ABSL_GUARDED_BY(follow_mutex_);

  mutable placement::Mutex dispatched_mutex_;
  placement::Revision dispatched_ ABSL_GUARDED_BY(dispatched_mutex_);

  placement::Mutex tick_mutex_;
  std::set<TrackerStreamPtr> tick_later_ ABSL_GUARDED_BY(tick_mutex_);

  mutable placement::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  Connections connections_ ABSL_GUARDED_BY(mutex_);
  SnapshotSlots slots_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Order> orders_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_SESSIONS_H_
