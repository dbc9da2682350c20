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
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/placement/v1/report.pb.h"
#include "placement/feed.h"
#include "placement/ledger.h"
#include "placement/mutex.h"
#include "services/liveness.h"
#include "services/metrics.h"
#include "services/snapshot_slots.h"
#include "services/tracker_stream.h"
#include "services/workers.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

class ReportSessions {
 public:
  using AuditAnswer = std::function<void(const absl::StatusOr<pb::AuditSummary>&)>;

  ReportSessions(placement::Ledger* ledger, Workers* workers, absl::Duration service_down_time);
  // REQUIRES: no stream is open.
  ~ReportSessions();

  placement::Ledger* ledger() const { return ledger_; }
  Workers* workers() const { return workers_; }
  Liveness& liveness() { return liveness_; }
  absl::Duration heartbeat_interval() const { return heartbeat_interval_; }

  // `session` said Hello and was registered: it takes the place of an older stream of the same
  // service, which ends.
  void Attach(const std::shared_ptr<TrackerStream>& session);
  void Detach(const std::shared_ptr<TrackerStream>& session);
  // Whether `node` may send its snapshot now; else it is told later by an order.
  bool AskForSnapshot(placement::ProviderId node);
  void SnapshotTaken(placement::ProviderId node);

  // Has `node` audited; `answer` is called once: NOT_SERVING where no stream is open for it,
  // OUTCOME_UNKNOWN when `deadline` passes.
  void Audit(placement::ProviderId node, absl::Time deadline, AuditAnswer answer);
  void AuditDone(const pb::AuditDone& done);

  // One step of the timer, about once a second: turns of liveness, snapshots that are due, audits
  // that are late, pushes that found no worker.
  void Tick(absl::Time now);
  // Writes down which services this process hears. Blocks: for a worker.
  void WriteHeartbeat();
  // Ends all streams with NOT_SERVING and refuses new ones.
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
  void Dispatch(const placement::FeedBatch& batch);
  void DispatchService(const placement::ServiceRecord& service)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  placement::Ledger* const ledger_;
  Workers* const workers_;
  const absl::Duration heartbeat_interval_ = absl::Seconds(10);
  const std::string process_;
  Liveness liveness_;
  int64_t feed_handle_ = 0;
  std::atomic<bool> following_{false};

  mutable placement::Mutex follow_mutex_;  // one follower at a time; before mutex_
  placement::Revision followed_ ABSL_GUARDED_BY(follow_mutex_);

  mutable placement::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<Liveness::Key, std::shared_ptr<TrackerStream>> by_service_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<placement::ProviderId, std::shared_ptr<TrackerStream>> by_node_
      ABSL_GUARDED_BY(mutex_);
  SnapshotSlots slots_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Order> orders_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_SESSIONS_H_
