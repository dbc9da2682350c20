// Node: one tracked hypervisor, with its passes and its identity. Its parts are NodeAudits,
// NodeReports and NodeClaims, which share what is known of the node: NodeState.
//
// Thread-safe: one thread runs the passes, the uplink brings records and takes reports and writes,
// callers claim, and every thread may read.
//
// Invariants:
//   1. One lock protects the state and the parts: mutex_. A thread that holds it waits for neither
//      libvirt nor the network, and answers no caller.
//   2. The identity does not change any more when it is known (T-17).
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
  // The values of a node at one moment.
  struct View {
    Uuid uuid;  // nil: not known yet
    std::string name;
    std::string uri;
    bool connected = false;
    PassOutcome last;                    // how the last pass ended
    std::shared_ptr<const Audit> audit;  // of the last good facts and the newest records
    bool has_records = false;            // placement has sent its records
    Standing standing = Standing::kNone;
    int64_t sequence = 0;
    int64_t acknowledged_sequence = 0;
    // The digest of the last acknowledged report, for Hello. Empty: none was acknowledged yet.
    std::string acknowledged_digest;
    // The revision up to which the records are complete. Absent: this is not known, and placement
    // must send all records again.
    std::optional<LedgerRevision> told_up_to;
    bool settled = true;
    std::optional<MonotonicTime> unsettled_since;
    int64_t reports_sent = 0;
    int64_t reports_coalesced = 0;
    int64_t reports_rejected = 0;
  };

  // `pool` runs the calls of libvirt and outlives the node.
  Node(Options options, DeadlinePool* pool, HypervisorListener listener);

  // Runs one pass: finds the node's identity if it is not known yet, observes, audits, and offers
  // the report to the outbox, and lets placement correct records. If one of these steps fails, the
  // outcome has the error.
  //
  // REQUIRES: no other Pass runs.
  PassOutcome Pass(MonotonicTime now);
  // Makes the next pass use `configuration`. Until such a pass succeeds, audits use the
  // configuration of the last good pass.
  void Configure(const NodeConfiguration& configuration);
  // Whether the last good pass began more than three intervals ago (T-293). If no pass was good
  // yet, whether the first pass began more than three intervals ago.
  bool AuditOverdue(MonotonicTime now) const;

  View view() const;
  // The records that placement has sent; absent until it sends them.
  std::optional<Records> records() const;
  // The accounting of the last good facts and of all records and claims of this moment. Absent: no
  // pass was good yet.
  std::optional<Accounting> accounting() const;
  std::map<std::string, int64_t> libvirt_calls() const { return hypervisor_.call_counts(); }
  LockTimes lock_times() const { return mutex_.times(); }
  int hung_storage_reads() const { return observer_.hung_storage_reads(); }
  const Options& options() const { return options_; }
  // Absent until a pass has found the identity. Does not change afterwards. Does not wait for the
  // node's lock.
  std::optional<NodeIdentity> identity() const;
  std::string name() const;

  // Run `work` under the node's lock, and return what it returns. `work` must not wait for anything.
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
  // Also answers the callers whose answers `work` has added to the replies, without the lock.
  template <typename Work>
  auto Claims(const Work& work) {
    ClaimReplies replies;
    const FairLock lock(&mutex_);
    return work(&claims_, &replies);
  }

  // The methods from here on are for the uplink.

  // Compares the identity with placement's records: see CheckIdentity. If they agree, records the
  // name of an only node: see WriteIdentityOwner. If that fails, the answer has a warning.
  //
  // REQUIRES: the identity is known.
  absl::StatusOr<IdentityCheck> CheckRecords(const std::vector<NodeRecord>& records);
  // To be called when the session has ended.
  void Disconnect();
  // Calls `change`, which edits the records and the account. If they are the first records, or if
  // `change` returns true, the last facts are audited with them: see NodeAudits. Then answers the
  // callers who wait for a record that has come.
  //
  // REQUIRES: the identity is known.
  void ChangeRecords(const std::function<bool(Records*, NodeAccount*)>& change, MonotonicTime now);
  // Makes the next Hello ask placement for all records (T-63).
  void WantAllRecords();

 private:
  absl::Status FindIdentity();
  // Finds the identity and observes. Remembers the traits that a report with `configuration` may
  // add, before it is sent; if they cannot be remembered, the facts have a warning.
  absl::StatusOr<Facts> Observe(const NodeConfiguration& configuration, MonotonicTime now,
                                absl::Time wall_now);
  // Audits what was observed with `configuration`, and ends the pass.
  void TakeFacts(absl::StatusOr<Facts> observed,
                 std::shared_ptr<const NodeConfiguration> configuration, MonotonicTime now,
                 PassOutcome* outcome);

  const Options options_;
  Hypervisor hypervisor_;
  Observer observer_;  // used by Pass, and for its thread-safe counter
  AddedTraitsFile added_traits_;

  // Taken after mutex_ if both are taken. Without it, whoever looks for a node would wait for the
  // locks of other nodes.
  mutable Mutex identity_mutex_;
  std::optional<NodeIdentity> identity_ ABSL_GUARDED_BY(identity_mutex_);

  // The node's lock. It protects all that follows, so the parts take no lock.
  mutable FairMutex mutex_;
  NodeState state_ ABSL_GUARDED_BY(mutex_);
  NodeReports reports_ ABSL_GUARDED_BY(mutex_){&state_, &added_traits_};
  NodeAudits audits_ ABSL_GUARDED_BY(mutex_);
  NodeClaims claims_ ABSL_GUARDED_BY(mutex_){&state_, &reports_.outbox()};
  std::shared_ptr<const NodeConfiguration> wanted_configuration_ ABSL_GUARDED_BY(mutex_);
  // When the last good pass began. If no pass was good yet: when the first pass began.
  std::optional<MonotonicTime> audited_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_NODE_H_
