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

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/placement/v1/report.pb.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/ledger.h"
#include "placement/log/feed.h"
#include "placement/store/heartbeats.h"
#include "services/process/metrics.h"
#include "services/process/workers.h"
#include "services/report/liveness.h"
#include "services/report/snapshot_slots.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

// A tracker at the other end of a stream, as the registry of all streams sees it.
// Implementations are thread-safe; none of the calls blocks or calls back.
class TrackerStream {
 public:
  virtual ~TrackerStream() = default;

  // Who it is, and the nodes that its Hello named. They stay while it is attached.
  virtual const Liveness::Key& key() const = 0;
  virtual placement::Uuid incarnation() const = 0;
  virtual std::vector<placement::ProviderId> node_ids() const = 0;

  // A committed command touched the tree of `node`; its service; anything at all.
  virtual void Touch(placement::ProviderId node, const placement::FeedCommand& command) = 0;
  virtual void TouchService() = 0;
  virtual void TouchAll() = 0;
  // Has a worker tell what is to be pushed, if anything is.
  virtual void FlushPushes() = 0;

  virtual void OrderSnapshot(placement::ProviderId node) = 0;
  virtual void OrderAudit(const std::string& order_id, placement::ProviderId node) = 0;
  // Ends the stream once what is being written is out. Idempotent.
  virtual void End(const absl::Status& status) = 0;
};

class ReportSessions {
 public:
  using AuditAnswer = std::function<void(const absl::StatusOr<pb::AuditSummary>&)>;

  ReportSessions(placement::Ledger* ledger, Workers* workers, const std::string& database_url,
                 absl::Duration service_down_time);
  // REQUIRES: no stream is open.
  ~ReportSessions();

  placement::Ledger* ledger() const { return ledger_; }
  Workers* workers() const { return workers_; }
  Liveness& liveness() { return liveness_; }
  absl::Duration heartbeat_interval() const { return heartbeat_interval_; }

  // The revision up to which streams have been told what touches their nodes.
  placement::Revision dispatched() const;

  // `stream` is open, whether or not it ever says Hello; it has ended.
  void Opened(const std::shared_ptr<TrackerStream>& stream);
  void Closed(const std::shared_ptr<TrackerStream>& stream);
  // `session` said Hello and was registered: it takes the place of an older stream of the same
  // service, which ends.
  void Attach(const std::shared_ptr<TrackerStream>& session);
  // `nodes` are the session's: what touches their trees is told to it. And no longer.
  void Own(const std::shared_ptr<TrackerStream>& session,
           const std::vector<placement::ProviderId>& nodes);
  void Disown(const std::shared_ptr<TrackerStream>& session,
              const std::vector<placement::ProviderId>& nodes);
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
  // Tells the streams of `host` of the records with hosts that `command` changed.
  void DispatchToHost(const std::string& host, const placement::FeedCommand& command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DispatchService(const placement::ServiceRecord& service)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  placement::Ledger* const ledger_;
  Workers* const workers_;
  const absl::Duration heartbeat_interval_;
  placement::Heartbeats heartbeats_;
  Liveness liveness_;
  int64_t feed_handle_ = 0;
  std::atomic<bool> following_{false};

  mutable placement::Mutex follow_mutex_;  // one follower at a time; before mutex_
  placement::Revision followed_ ABSL_GUARDED_BY(follow_mutex_);

  mutable placement::Mutex dispatched_mutex_;  // innermost
  placement::Revision dispatched_ ABSL_GUARDED_BY(dispatched_mutex_);

  mutable placement::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::shared_ptr<TrackerStream>> open_ ABSL_GUARDED_BY(mutex_);
  std::map<Liveness::Key, std::shared_ptr<TrackerStream>> by_service_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<placement::ProviderId, std::shared_ptr<TrackerStream>> by_node_
      ABSL_GUARDED_BY(mutex_);
  SnapshotSlots slots_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Order> orders_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_SESSIONS_H_
