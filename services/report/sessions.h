// ReportSessions: all trackers' streams of this process, and what they share.
//
// Knows which stream owns which service and nodes, follows the feed once for all streams and gives
// each stream the commands that changed its trees, limits how many snapshots come at a time, and
// keeps the audit orders that are not answered yet. Thread-safe. Locks: follow_mutex_, then mutex_,
// then a stream's, then dispatched_mutex_ or tick_mutex_; a stream does not call here with its own
// lock held, except for dispatched().
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

class ReportSessions {
 public:
  using AuditAnswer = std::function<void(const absl::StatusOr<pb::AuditSummary>&)>;

  // `settle_within`: a command whose decision is not known by then has an unknown outcome.
  ReportSessions(placement::Ledger* ledger, Workers* workers, LivenessRecorder* recorder,
                 absl::Duration settle_within = absl::Seconds(30));
  // REQUIRES: no stream is open.
  ~ReportSessions();

  placement::Ledger* ledger() const { return ledger_; }
  Workers* workers() const { return workers_; }
  Liveness& liveness() { return recorder_->liveness(); }
  absl::Duration heartbeat_interval() const { return recorder_->heartbeat_interval(); }
  absl::Duration settle_within() const { return settle_within_; }

  // Streams have been given every command up to this revision that changed their trees.
  placement::Revision dispatched() const;

  // A stream opened, or is over. Every stream that opened is closed once.
  void Opened(const TrackerStreamPtr& stream);
  void Closed(const TrackerStreamPtr& stream);
  // The service that the stream's Hello named is registered. Makes the stream the owner of its
  // service and of `nodes`, and of no other node; a stream that owned the service before ends.
  // Fails, and changes nothing, with
  //   kUnavailable / NOT_SERVING   all streams are being ended
  //   kAborted / TRACKER_FENCED    the stream has ended, or a newer one has replaced it
  absl::Status Attach(const TrackerStreamPtr& stream,
                      const std::vector<placement::ProviderId>& nodes);
  // Makes the stream the owner of `node`, too. Does nothing if the stream does not own its service.
  void Own(const TrackerStreamPtr& stream, placement::ProviderId node);
  // The next Tick calls the stream's Tick.
  void TickLater(const TrackerStreamPtr& stream);
  // Whether `node` may send its snapshot now. If not, an order goes to its stream later.
  bool AskForSnapshot(placement::ProviderId node);
  void SnapshotTaken(placement::ProviderId node);

  // Orders an audit of `node`. Calls `answer` once: with the summary of the audit, with OVERLOADED
  // if too many orders are open, with NOT_SERVING if no stream owns the node or all are being
  // ended, or with kDeadlineExceeded when `deadline` passes.
  void Audit(placement::ProviderId node, absl::Time deadline, const AuditAnswer& answer);
  void AuditDone(const pb::AuditDone& done);

  // One step of the timer, about once a second: orders snapshots that are due, answers audit orders
  // that are late, and calls the streams of TickLater.
  void Tick(absl::Time now);
  // Ends all streams with NOT_SERVING, answers all orders, refuses new ones.
  void EndAll();

  void Measure(Samples* samples) const;

 private:
  struct Order {
    placement::ProviderId node;
    absl::Time deadline;
    AuditAnswer answer;
  };

  void Wake();
  void FollowFeed();
  bool FollowOnce();
  void BeginAnew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(follow_mutex_);
  void NoteDispatched(placement::Revision revision);
  void Dispatch(const placement::FeedBatch& batch);
  void OrderSnapshots(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DispatchService(const placement::ServiceRecord& service)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  placement::Ledger* const ledger_;
  Workers* const workers_;
  LivenessRecorder* const recorder_;
  const absl::Duration settle_within_;
  int64_t feed_handle_ = 0;
  std::atomic<bool> following_{false};

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
