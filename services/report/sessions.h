// ReportSessions: the streams of all trackers that are connected to this process, and what the
// streams share.
//
// It knows which stream owns which service and which nodes. It follows the feed once for all
// streams, and gives each stream the commands that concern the stream's host or nodes. It decides
// when a node may send a snapshot (SnapshotSlots). It keeps the audit orders that are not answered
// yet. It calls Tick of the streams that asked for it (TickLater).
//
// Thread-safe. Locks are taken in this order: follow_mutex_, mutex_, the locks of a stream, then
// dispatched_mutex_ or tick_mutex_. A stream that holds a lock of its own may call dispatched() and
// the accessors before dispatched(), and no other method. Nobody looks at the changes of a command
// while mutex_ is held: the streams that the command concerns are found first, and then told.
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
#include "services/access/policy.h"
#include "services/process/metrics.h"
#include "services/process/workers.h"
#include "services/report/connections.h"
#include "services/report/liveness_recorder.h"
#include "services/report/snapshot_slots.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

class AccessPolicy;

struct SessionSettings {
  // The rules that are in force, and the days of trackers: each report of a tracker with a certificate
  // asks. Null: nothing is limited. Must outlive the sessions.
  AccessPolicy* policy = nullptr;
  // The time from the submission of a stream's command to the command's deadline.
  absl::Duration settle_within = absl::Seconds(30);
  bool enable_new_services = true;  // false: the record of a new tracker is disabled (T-296)
  // For tests. Called by a worker, without a lock, before the worker fills a slice of a push. Null:
  // nothing is called.
  std::function<void()> before_fill = nullptr;
};

class ReportSessions {
 public:
  using AuditAnswer = std::function<void(const absl::StatusOr<pb::AuditSummary>&)>;

  ReportSessions(placement::Ledger* ledger, Workers* workers, LivenessRecorder* recorder,
                 const SessionSettings& settings = {});
  // REQUIRES: no stream is open, and `workers` and `ledger` have no work left that uses this
  // object.
  ~ReportSessions();

  placement::Ledger* ledger() const { return ledger_; }
  Workers* workers() const { return workers_; }
  Liveness& liveness() { return recorder_->liveness(); }
  absl::Duration heartbeat_interval() const { return recorder_->heartbeat_interval(); }
  const SessionSettings& settings() const { return settings_; }

  // Returns the revision up to which the feed has been followed. Each command up to this revision
  // was given to the streams that owned what it concerns (Touch), or these streams were told that
  // anything may have changed (TouchAll).
  placement::Revision dispatched() const;

  // To be called once when a stream has opened, and once when the stream is over. After EndAll,
  // Opened ends the stream.
  void Opened(const TrackerStreamPtr& stream);
  void Closed(const TrackerStreamPtr& stream);
  // To be called when the service that the stream's Hello named has been registered. Makes the
  // stream the owner of its service and of `nodes`, and of no other node. Ends another stream that
  // owned the service. Fails, and changes nothing: kUnavailable / NOT_SERVING after EndAll;
  // kAborted / TRACKER_FENCED if the service is recorded for another process, if the stream has
  // ended, or if a stream of the same process that opened later owns the service.
  absl::Status Attach(const TrackerStreamPtr& stream,
                      const std::vector<placement::ProviderId>& nodes);
  // As Connections::Own.
  void Own(const TrackerStreamPtr& stream, placement::ProviderId node);
  // Makes the next Tick call the stream's Tick.
  void TickLater(const TrackerStreamPtr& stream);
  // Returns whether `node`, which the tracker of `host` has announced, may send its snapshot now.
  // If false, the node waits: when it is the node's turn, the stream that then owns the node, if
  // any, sends an order for the snapshot.
  bool AskForSnapshot(const std::string& host, placement::ProviderId node);
  // To be called when a snapshot of `node` has been applied. Orders the snapshots that are now due.
  void SnapshotTaken(placement::ProviderId node);

  // Orders an audit of `node`. Calls `answer` once. Without an order, at once:
  //   NOT_SERVING        no stream owns the node, or EndAll was called
  //   OVERLOADED         too many orders for the node are open
  // Otherwise in the first of these calls:
  //   the summary        AuditDone for the order; empty if `done` has none for the node
  //   kDeadlineExceeded  a Tick at `deadline` or later
  //   NOT_SERVING        EndAll
  void Audit(placement::ProviderId node, placement::BootTime deadline, const AuditAnswer& answer);
  // To be called when a tracker answers an order. Does nothing if the order is not open any more.
  void AuditDone(const pb::AuditDone& done);

  // One step of the timer, called about once a second. Orders the snapshots that are due, answers
  // the audit orders whose deadline has passed, calls Tick of the streams that TickLater named, and
  // asks again for a worker that follows the feed, in case none was free.
  void Tick(placement::BootTime now);
  // Ends all streams, and answers all open audit orders, with NOT_SERVING. Refuses new streams and
  // orders from now on.
  void EndAll();

  void Measure(Samples* samples) const;

 private:
  // An audit order that is not answered yet.
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
  // Calls DispatchService for each service that `changes` put or remove. Returns the number of all
  // `changes`.
  int64_t DispatchServices(const placement::Changes& changes);
  // Notes in the Liveness that the record of the service has changed. Ends the stream that owns the
  // service if the newest record of the service names another process than the stream's, or if
  // there is none (T-384). A change that is dispatched late may be older than the stream.
  void DispatchService(const Liveness::Key& key);
  void OrderSnapshots(placement::BootTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  placement::Ledger* const ledger_;
  Workers* const workers_;
  LivenessRecorder* const recorder_;
  const SessionSettings settings_;
  int64_t feed_handle_ = 0;
  std::atomic<bool> following_{false};
  std::atomic<int64_t> visits_{0};  // how often Dispatch and Touch have looked at a change

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
  std::map<std::string, Order> orders_ ABSL_GUARDED_BY(mutex_);  // by order id
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_SESSIONS_H_
