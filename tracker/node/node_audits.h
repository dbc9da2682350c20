// NodeAudits: audits what a pass observed and what placement has recorded, when one of both changes.
// The account and the reports learn the result.
//
// Asks no hypervisor. Not thread-safe; the node's lock protects it.
//
// Invariants:
//   1. Facts whose audit fails change neither the facts, nor the configuration, nor the audit (T-37).
//   2. The audit is that of the newest records, unless due() says when they are audited.
//   3. The accounting takes only totals from the facts. It computes the used amounts from records,
//      claims and orphans (T-51).
#ifndef BERTH_TRACKER_NODE_NODE_AUDITS_H_
#define BERTH_TRACKER_NODE_NODE_AUDITS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tracker/audit/accounting.h"
#include "tracker/audit/audit.h"
#include "tracker/audit/records.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/node/node_reports.h"
#include "tracker/node/node_state.h"
#include "tracker/node/outbox.h"
#include "tracker/settings/added_traits.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

class NodeAudits {
 public:
  // An audit takes milliseconds under the lock if the node has many guests, and claims wait for the
  // lock. So changes that follow each other quickly are audited together, once in this time.
  static constexpr std::chrono::milliseconds kAuditPause{100};

  // `wall_clock`: returns the time for people. The last three outlive the audits.
  NodeAudits(absl::Time (*wall_clock)(), absl::Duration orphan_confirmation, NodeState* state,
             NodeReports* reports, const AddedTraitsFile* added_traits)
      : wall_clock_(wall_clock),
        orphan_confirmation_(orphan_confirmation),
        state_(state),
        reports_(reports),
        added_traits_(added_traits) {}

  // Audits new facts, which were observed with `configuration`, and keeps both if that succeeds.
  //
  // Fails as VerifyFacts does, or if a setting for devices is malformed.
  //
  // REQUIRES: the state has an account.
  absl::Status TakeFacts(std::shared_ptr<const Facts> facts,
                         std::shared_ptr<const NodeConfiguration> configuration, MonotonicTime now);
  // Audits the last facts, if there are any, with the records, because they are the first ones or
  // because placement refused a report and sent its providers.
  void AuditAtOnce(MonotonicTime now);
  // To be called when the records have changed. Audits the last facts, if there are any, with the
  // records. If only the accounting has changed, the new report waits: see NodeReports::Take. If
  // changes were audited less than kAuditPause ago, the audit waits for AuditChanges.
  void NoteChange(MonotonicTime now);
  // Audits all changes that wait for an audit, if it is time, and lets NextReport return a changed
  // account, if it is time for that. Returns whether there was an audit.
  bool AuditChanges(MonotonicTime now);
  // Returns when AuditChanges will have something to do. Nothing: nothing waits for it.
  std::optional<MonotonicTime> due() const;
  // Returns the report to send now, if there is one. Sets `records` to the records that this report
  // is based on: changes that wait for an audit are audited before.
  std::optional<Outbox::Outgoing> NextReport(MonotonicTime now, std::optional<Records>* records);
  // To be called when placement has refused the report `sequence`: see NodeReports::Reject. `tree`:
  // the providers as placement has them, if placement sent them; they are audited. Returns false if
  // placement refused for good to move resources (T-197).
  bool Reject(int64_t sequence, bool again, std::optional<std::vector<KnownProvider>> tree,
              MonotonicTime now);
  // Returns the warnings of all audits since the last call, for the log: those of passes and those
  // that changed records have caused.
  std::vector<std::string> TakeWarnings();
  // The accounting of the last good facts and of all records and claims of this moment. Absent: no
  // pass was good yet.
  std::optional<Accounting> accounting() const;

 private:
  using Cause = NodeReports::Cause;

  // Audits the facts against the records, keeps the audit, and lets it be reported. The audit can
  // fail only if the facts are new: facts that have passed an audit pass it again.
  absl::Status AuditFor(MonotonicTime now, Cause cause);
  // Audits the last facts with all changes of records until now.
  void AuditNow(MonotonicTime now);
  // Gives the account what the node has, by the facts.
  absl::Status TakeResources();
  const Records* records() const { return state_->records ? &*state_->records : nullptr; }

  absl::Time (*const wall_clock_)();
  const absl::Duration orphan_confirmation_;
  NodeState* const state_;
  NodeReports* const reports_;
  const AddedTraitsFile* const added_traits_;
  // The configuration with which the facts were observed.
  std::shared_ptr<const NodeConfiguration> configuration_;
  bool changes_wait_ = false;            // records have changed since the last audit
  MonotonicTime audit_changes_at_ = {};  // not before this time
  std::vector<std::string> warnings_;    // that nobody has taken yet
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_NODE_AUDITS_H_
