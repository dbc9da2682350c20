// ReportSessions: all trackers' streams of this process: who is connected, who is alive, what has to
// be told to whom.
//
// Follows the feed once for all streams and hands each what touches its trees. Owns the liveness of
// services, the slots for snapshots and the open orders for audits. Thread-safe. Locks: this one's
// before a session's; a session calls in here without its own.
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
#include "placement/store/heartbeats.h"
#include "services/process/metrics.h"
#include "services/process/workers.h"
#include "services/report/connections.h"
#include "services/report/liveness.h"
#include "services/report/snapshot_slots.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

struct ReportOptions {
  std::string database_url;
  absl::Duration service_down_time;                  // then a silent service is down
  absl::Duration settle_within = absl::Seconds(30);  // then the outcome of a command is unknown
};

class ReportSessions {
 public:
  using AuditAnswer = std::function<void(const absl::StatusOr<pb::AuditSummary>&)>;

  ReportSessions(placement::Ledger* ledger, Workers* workers, const ReportOptions& options);
  // REQUIRES: no stream is open.
  ~ReportSessions();

  placement::Ledger* ledger() const { return ledger_; }
  Workers* workers() const { return workers_; }
  Liveness& liveness() { return liveness_; }
  absl::Duration heartbeat_interval() const { return heartbeat_interval_; }
  absl::Duration settle_within() const { return settle_within_; }

  // The revision up to which streams have been told what touches their nodes.
  placement::Revision dispatched() const;

  // A stream opened, or is over. Every stream that opened is closed once.
  void Opened(const TrackerStreamPtr& stream);
  void Closed(const TrackerStreamPtr& stream);
  // The service that the stream's Hello named is registered. Makes the stream the owner of its
  // service and of `nodes`, and of no other node; a stream that owned the service before ends. Fails,
  // and changes nothing, with
  //   kUnavailable / NOT_SERVING   all streams are being ended
  //   kAborted / TRACKER_FENCED    the stream has ended, or a newer one has replaced it
  absl::Status Attach(const TrackerStreamPtr& stream,
                      const std::vector<placement::ProviderId>& nodes);
  // Makes the stream the owner of `node`, too. Does nothing if the stream does not own its service.
  void Own(const TrackerStreamPtr& stream, placement::ProviderId node);
  // Calls the stream's Tick with the next Tick.
  void TickLater(const TrackerStreamPtr& stream);
  // Whether `node` may send its snapshot now; else it is told later by an order.
  bool AskForSnapshot(placement::ProviderId node);
  void SnapshotTaken(placement::ProviderId node);

  // Has `node` audited; `answer` is called once: NOT_SERVING where no stream is open for it,
  // OUTCOME_UNKNOWN when `deadline` passes.
  void Audit(placement::ProviderId node, absl::Time deadline, const AuditAnswer& answer);
  void AuditDone(const pb::AuditDone& done);

  // One step of the timer, about once a second: turns of liveness, snapshots that are due, audits
  // that are late, pushes that found no worker.
  void Tick(absl::Time now);
  // Writes down which services this process hears. Blocks: for a worker.
  void WriteHeartbeat();
  // Ends all streams with NOT_SERVING, answers all orders, refuses new ones.
  void EndAll();
  // The last word of a process that stops: others need not ask about it.
  void RemoveHeartbeat();

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
  void NoteDispatched(placement::Revision revision);
  void Mark(placement::MarkService turn);
  void MarkDown(const std::vector<placement::MarkService>& turns);
  void Dispatch(const placement::FeedBatch& batch);
  void OrderSnapshots(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DispatchService(const placement::ServiceRecord& service)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  placement::Ledger* const ledger_;
  Workers* const workers_;
  const absl::Duration heartbeat_interval_;
  const absl::Duration settle_within_;
  placement::Heartbeats heartbeats_;
  Liveness liveness_;
  int64_t feed_handle_ = 0;
  std::atomic<bool> following_{false};

  mutable placement::Mutex follow_mutex_;  // one follower at a time; before mutex_
  placement::Revision followed_ ABSL_GUARDED_BY(follow_mutex_);

  mutable placement::Mutex dispatched_mutex_;  // innermost
  placement::Revision dispatched_ ABSL_GUARDED_BY(dispatched_mutex_);

  placement::Mutex tick_mutex_;  // innermost: streams ask to be called while mutex_ is held
  std::set<TrackerStreamPtr> tick_later_ ABSL_GUARDED_BY(tick_mutex_);

  mutable placement::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  Connections connections_ ABSL_GUARDED_BY(mutex_);
  SnapshotSlots slots_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Order> orders_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_SESSIONS_H_
