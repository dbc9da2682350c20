// One tracked hypervisor: its connection, its identity, what passes remember, and what is to be told.
//
// Owns all of these. Thread-safe: passes run one at a time, on whichever thread; the uplink feeds records
// and takes reports on another; anyone may look. Nothing waits for libvirt or the network under the lock.
//
// Invariants:
//   1. Accounting holds no observation but totals: usage comes from records and guests (T-51).
//   2. What the last good pass saw stays until a better one: a pass that fails changes nothing (T-37).
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
#include "tracker/audit/pass.h"
#include "tracker/audit/records.h"
#include "tracker/ground/mutex.h"
#include "tracker/hypervisor/deadline_pool.h"
#include "tracker/hypervisor/hypervisor.h"
#include "tracker/hypervisor/observe.h"
#include "tracker/node/outbox.h"
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
    std::optional<std::chrono::milliseconds> pass_interval;  // none: no periodic passes (T-44)
  };
  // What anyone may know of a node at a moment.
  struct View {
    std::string uuid;  // empty: not known yet
    std::string name;
    std::string uri;
    bool connected = false;
    PassOutcome last;                    // of the last pass
    std::shared_ptr<const Audit> audit;  // of the last good one, with records that came since
    std::optional<Records> records;
    Standing standing = Standing::kNone;
    int64_t sequence = 0;
    int64_t acknowledged_sequence = 0;
    bool settled = true;
    std::optional<MonotonicTime> unsettled_since;
    int64_t reports_sent = 0;
    int64_t reports_coalesced = 0;
    int64_t reports_rejected = 0;
  };

  // `pool` runs the calls of libvirt and outlives the node.
  Node(Options options, DeadlinePool* pool, HypervisorListener listener);

  // One pass: observe, audit, offer what is to be reported. Finds or makes the node's identity first,
  // if need be; FailedPrecondition in the outcome when that is refused.
  //
  // REQUIRES: no other Pass runs.
  PassOutcome Pass(MonotonicTime now);
  // The next pass goes by `configuration`, and what it observed is judged by it. A pass that fails with
  // it leaves everything to the last good one, the configuration too.
  void Configure(const NodeConfiguration& configuration);
  // Whether the last good pass, or the first attempt where there was none, is longer ago than three
  // intervals (T-293).
  bool AuditOverdue(MonotonicTime now) const;
  // When the orphans that the last audit saw want their confirming pass.
  std::optional<MonotonicTime> confirm_at() const;

  View view() const;
  std::map<std::string, int64_t> libvirt_calls() const { return hypervisor_.call_counts(); }
  int hung_storage_reads() const { return observer_.hung_storage_reads(); }
  const Options& options() const { return options_; }
  // Present once the first pass has found it; constant from then on.
  std::optional<NodeIdentity> identity() const;
  std::string name() const;

  // For the uplink. `now` is the monotonic time, as in Pass.
  //
  // Compares the identity with placement's records; on FailedPrecondition nothing is reported.
  absl::StatusOr<IdentityCheck> CheckRecords(const std::vector<NodeRecord>& records);
  void Welcome(Standing standing, int64_t last_sequence);
  void OrderSnapshot();
  void Disconnect();
  // Lets `change` edit what placement is known to hold, and audits the last facts anew with it, without
  // asking the hypervisor. What changed by allocations alone waits for the next pass.
  void ChangeRecords(const std::function<void(Records*)>& change, MonotonicTime now);
  std::optional<Outbox::Outgoing> NextReport(std::optional<Records>* records);
  // `generations` by provider; they and the report are what placement holds from now on.
  void Acknowledge(int64_t sequence, const std::map<std::string, int64_t>& generations,
                   const std::vector<std::string>& unknown_traits, MonotonicTime now);
  // `tree` is what placement holds instead, if it was told.
  void Reject(int64_t sequence, bool again, std::optional<std::vector<KnownProvider>> tree,
              MonotonicTime now);
  std::string acknowledged_digest() const;
  // Up to which placement's changes have been heard; nothing when all has to be told again.
  std::optional<LedgerRevision> told_up_to() const;
  // The next Hello asks for all that placement holds (T-63).
  void WantAllRecords();

 private:
  absl::Status FindIdentity();
  enum class Cause {
    kPass,     // new facts
    kRecords,  // records that the last audit contradicted, or did not have
    kPush,     // records that changed
  };
  // Audits `facts_` with the records; keeps and offers the outcome. Facts that were good before are so
  // again: only kPass can fail.
  absl::StatusOr<std::shared_ptr<const Audit>> AuditLocked(MonotonicTime now, Cause cause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool DriftedLocked(const Audit& audit) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteSettledLocked(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  Hypervisor hypervisor_;
  Observer observer_;  // used by Pass, and for its thread-safe counter

  mutable Mutex mutex_;
  std::string name_ ABSL_GUARDED_BY(mutex_);
  std::optional<NodeIdentity> identity_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const NodeConfiguration> wanted_configuration_ ABSL_GUARDED_BY(mutex_);
  // That facts_ were observed with.
  std::shared_ptr<const NodeConfiguration> configuration_ ABSL_GUARDED_BY(mutex_);
  std::optional<Facts> facts_ ABSL_GUARDED_BY(mutex_);
  std::optional<Records> records_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> unknown_traits_ ABSL_GUARDED_BY(mutex_);
  OrphanMemory memory_ ABSL_GUARDED_BY(mutex_);
  FindingMemory findings_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const Audit> audit_ ABSL_GUARDED_BY(mutex_);
  PassOutcome last_ ABSL_GUARDED_BY(mutex_);
  // When the last good pass began; until there is one, the first.
  std::optional<MonotonicTime> audited_at_ ABSL_GUARDED_BY(mutex_);
  Outbox outbox_ ABSL_GUARDED_BY(mutex_);
  std::optional<MonotonicTime> unsettled_since_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_NODE_H_
