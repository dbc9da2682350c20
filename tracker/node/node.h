// Node: one tracked hypervisor, with its identity, its passes and its claims. Its parts are
// NodeAudits, NodeReports and NodeClaims, which share what is known of the node: NodeState. A pass
// is good if its facts were audited: its result is kComplete or kDegraded (PassOutcome).
//
// Thread-safe, but only one Pass may run at a time.
//
// Invariants:
//   1. mutex_, the node's lock, protects the state and the parts. A thread that holds the lock
//      waits for neither libvirt nor the network, and answers no caller.
//   2. Once the identity is known, its uuid does not change (T-17).
#ifndef BERTH_TRACKER_NODE_NODE_H_
#define BERTH_TRACKER_NODE_NODE_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tracker/account/account.h"
#include "tracker/audit/pass.h"
#include "tracker/audit/records.h"
#include "tracker/ground/fair_mutex.h"
#include "tracker/ground/mutex.h"
#include "tracker/ground/uuid.h"
#include "tracker/hypervisor/deadline_pool.h"
#include "tracker/hypervisor/hypervisor.h"
#include "tracker/hypervisor/observe.h"
#include "tracker/node/claim_replies.h"
#include "tracker/node/node_audits.h"
#include "tracker/node/node_claims.h"
#include "tracker/node/node_reports.h"
#include "tracker/node/node_state.h"
#include "tracker/node/outbox.h"
#include "tracker/settings/added_traits.h"
#include "tracker/settings/configuration.h"
#include "tracker/settings/identity.h"

namespace berth::tracker {

class Node {
 public:
  struct Options {
    NodeConfiguration configuration;
    Observer::Surroundings surroundings;
    std::vector<std::string> configuration_directories;
    std::string host;
    bool several_nodes = false;
    absl::Duration orphan_confirmation = absl::Seconds(5);
    std::optional<std::chrono::milliseconds> pass_interval;  // absent: no periodic passes (T-44)
    absl::Time booted_at = absl::InfinitePast();             // when this machine was started (T-33)
  };
  // What is known of a node. All values but `connected` are of the same moment.
  struct View {
    Uuid uuid;  // nil: not known yet
    std::string name;
    std::string uri;
    bool connected = false;
    PassOutcome last;                    // how the last pass ended
    std::shared_ptr<const Audit> audit;  // the last one; null: no pass was good yet
    bool has_records = false;            // records() is not absent
    Standing standing = Standing::kNone;
    int64_t sequence = 0;
    int64_t acknowledged_sequence = 0;
    // The digest of the last acknowledged report. Empty: none was acknowledged yet.
    std::string acknowledged_digest;
    // By placement's pushes, the records have all changes up to this revision. Absent: this is not
    // known, so a Hello asks for all records.
    std::optional<LedgerRevision> told_up_to;
    bool settled = true;
    std::optional<MonotonicTime> unsettled_since;
    int64_t reports_sent = 0;
    int64_t reports_coalesced = 0;
    int64_t reports_rejected = 0;
  };

  // `pool` runs the calls of libvirt, and must outlive the node. `listener`: see Hypervisor.
  //
  // REQUIRES: a HypervisorEventLoop exists.
  Node(Options options, DeadlinePool* pool, HypervisorListener listener);

  // Runs one pass, which begins at `now`: finds the identity if it is not known yet, observes,
  // audits, offers the report to the outbox, and adds writes that correct records (RepairRecords).
  // If the identity, the observation or the audit fails, the outcome has the error, and the later
  // steps are left out.
  //
  // REQUIRES: no other Pass runs.
  PassOutcome Pass(MonotonicTime now);
  // Passes that begin later use `configuration`. Until one of them is good, audits of changed
  // records use the configuration of the last good pass.
  //
  // REQUIRES: only settings that may change while a node runs have changed: see TakeReloadable.
  void Configure(const NodeConfiguration& configuration);
  // Whether the last good pass began more than three pass intervals before `now` (T-293). If no
  // pass was good yet, the first pass counts instead. False if no pass has begun, or if there are
  // no periodic passes.
  bool AuditOverdue(MonotonicTime now) const;

  View view() const;
  // What placement has recorded about the node. Absent until placement has sent this, or has
  // welcomed the node as a new one.
  std::optional<Records> records() const;
  // The accounting of this moment, from the last good facts, the orphans of the last audit, and all
  // records and claims. Absent: no pass was good yet.
  std::optional<Accounting> accounting() const;
  std::map<std::string, int64_t> libvirt_calls() const { return hypervisor_.call_counts(); }
  LockTimes lock_times() const { return mutex_.times(); }
  int hung_storage_reads() const { return observer_.hung_storage_reads(); }
  const Options& options() const { return options_; }
  // Absent until a pass has found the identity. Its uuid and path do not change afterwards. Does
  // not wait for the node's lock.
  std::optional<NodeIdentity> identity() const;
  std::string name() const;

  // Run `work` on a part of the node, under the node's lock, and return what `work` returns. `work`
  // must not wait for anything, and must not call the node.
  template <typename Work>
  auto Audits(const Work& work) {
    const FairLock lock(&mutex_);
    return work(&audits_);
  }
  template <typename Work>
  auto Reports(const Work& work) {
    const FairLock lock(&mutex_);
    return work(&reports_);
  }
  // Claims also answers the callers whose answers `work` has added to the replies: afterwards, and
  // without the lock.
  template <typename Work>
  auto Claims(const Work& work) {
    ClaimReplies replies;
    const FairLock lock(&mutex_);
    return work(&claims_, &replies);
  }
  // Forgets View::told_up_to. So the next Hello asks placement for all records (T-63), unless a
  // complete push comes before.
  void WantAllRecords();

  // Only the uplink calls the methods from here on.

  // Compares the identity with `records`, and fails, as CheckIdentity does. If they agree, the
  // identity no longer counts as new (NodeIdentity::created). If the tracker has only this node,
  // and its identity file is not in the node's own directory, also records the node's name as
  // WriteIdentityOwner does. If that fails, the result has a warning.
  //
  // REQUIRES: the identity is known.
  absl::StatusOr<IdentityCheck> CheckRecords(const std::vector<NodeRecord>& records);
  // To be called when the session has ended: see Outbox::Disconnect and NodeClaims::Disconnect.
  void Disconnect();
  // Calls `change`, under the node's lock, to edit the records and the account. Then calls
  // NodeAudits::AuditAtOnce if these are the first records, or else NodeAudits::NoteChange if
  // `change` has returned true. Last, calls NodeClaims::RecordsCame.
  //
  // REQUIRES: the identity is known.
  void ChangeRecords(const std::function<bool(Records*, NodeAccount*)>& change, MonotonicTime now);

 private:
  absl::Status FindIdentity();
  // Finds the identity if it is not known yet, and observes. Writes the traits that a report with
  // `configuration` may add into the AddedTraitsFile, before a report adds them. If the file cannot
  // be written, the facts have a warning.
  absl::StatusOr<Facts> Observe(const NodeConfiguration& configuration, MonotonicTime now,
                                absl::Time wall_now);
  // Ends a pass: audits `observed`, which was observed with `configuration`, or takes over its
  // error. After a good audit adds writes that correct records (RepairRecords). Sets the fields of
  // `outcome` except started_at, observed_at and texts. Makes it the outcome of the last pass.
  void TakeFacts(absl::StatusOr<Facts> observed,
                 std::shared_ptr<const NodeConfiguration> configuration, MonotonicTime now,
                 PassOutcome* outcome);

  const Options options_;
  Hypervisor hypervisor_;
  Observer observer_;  // only Pass uses it, apart from its thread-safe counter
  AddedTraitsFile added_traits_;

  // A thread that takes mutex_, too, takes mutex_ first. The identity has a lock of its own,
  // because a thread that looks for a node by its uuid must not wait for the locks of other nodes.
  mutable Mutex identity_mutex_;
  std::optional<NodeIdentity> identity_ ABSL_GUARDED_BY(identity_mutex_);

  // The node's lock. It protects all that follows, so the parts have no lock of their own.
  mutable FairMutex mutex_;
  NodeState state_ ABSL_GUARDED_BY(mutex_);
  NodeReports reports_ ABSL_GUARDED_BY(mutex_){&state_, &added_traits_};
  NodeAudits audits_ ABSL_GUARDED_BY(mutex_);
  NodeClaims claims_ ABSL_GUARDED_BY(mutex_){&state_, &reports_.outbox()};
  std::shared_ptr<const NodeConfiguration> wanted_configuration_ ABSL_GUARDED_BY(mutex_);
  // When the last good pass began, or, if no pass was good yet, the first pass. Absent: no pass has
  // begun.
  std::optional<MonotonicTime> audited_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_NODE_H_
