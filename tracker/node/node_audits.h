// NodeAudits: audits what a pass observed against what placement has recorded, after a pass and
// when the records have changed. Gives the results to the account and to NodeReports.
//
// Asks no hypervisor. Not thread-safe; the node's lock protects it.
//
// Invariants:
//   1. If the audit of new facts fails, the state keeps its facts and its audit, and later audits
//      use the configuration of the last good facts (T-37).
//   2. The state's audit, if there is one, has all changes of which NoteChange was told, unless
//      due() says when they are audited. So it is with a part that sets NodeState::changes_wait.
//   3. Use that the hypervisor measures never enters the accounting: the used amounts follow from
//      records, claims, orphans and the reserve (T-51).
#ifndef BERTH_TRACKER_NODE_NODE_AUDITS_H_
#define BERTH_TRACKER_NODE_NODE_AUDITS_H_

#include <chrono>
#include <cstdint>
#include <map>
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
#include "tracker/ground/uuid.h"
#include "tracker/node/node_reports.h"
#include "tracker/node/node_state.h"
#include "tracker/node/outbox.h"
#include "tracker/settings/added_traits.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

class NodeAudits {
 public:
  // For this long after AuditNow, NoteChange and AuditChanges audit nothing. An audit of many
  // guests takes milliseconds under the node's lock, for which claims wait.
  static constexpr std::chrono::milliseconds kAuditPause{100};

  // `wall_clock` returns the time of the wall clock. `orphan_confirmation`: see JudgeOrphans. The
  // last three parameters must outlive the audits.
  NodeAudits(absl::Time (*wall_clock)(), absl::Duration orphan_confirmation, NodeState* state,
             NodeReports* reports, const AddedTraitsFile* added_traits)
      : wall_clock_(wall_clock),
        orphan_confirmation_(orphan_confirmation),
        state_(state),
        reports_(reports),
        added_traits_(added_traits) {}

  // Audits new facts, which were observed with `configuration`, and keeps both if that succeeds.
  //
  // Fails as VerifyFacts, AddDevices and ClaimSettingsOf do.
  //
  // REQUIRES: the state has an account.
  absl::Status TakeFacts(std::shared_ptr<const Facts> facts,
                         std::shared_ptr<const NodeConfiguration> configuration, MonotonicTime now);
  // To be called when the first records have come, or when placement has sent its providers with a
  // refusal. Audits the last good facts, if there are any, with the records.
  void AuditAtOnce(MonotonicTime now);
  // To be called when the records have changed in another way. Audits the last good facts, if there
  // are any, with the records. Within kAuditPause, leaves this to a later call, for example of
  // AuditChanges. NodeReports::Take says when the result is reported.
  void NoteChange(MonotonicTime now);
  // Audits all changes that wait for an audit, if it is time. Then calls NodeReports::OfferDue.
  // Returns true if there was an audit.
  bool AuditChanges(MonotonicTime now);
  // Returns when AuditChanges will have something to do. Nothing: nothing waits for AuditChanges.
  std::optional<MonotonicTime> due() const;
  // Returns the report to send now, and sets `records` to the records of this moment. Nothing: no
  // report is to be sent now, or there are no records yet. Changes that wait for an audit are
  // audited before, if a report is to be sent.
  std::optional<Outbox::Outgoing> NextReport(MonotonicTime now, std::optional<Records>* records);
  // Calls NodeReports::Acknowledge. If the recorded limits have changed, then calls NoteChange: they
  // are findings.
  void Acknowledge(int64_t sequence, const std::map<Uuid, int64_t>& generations,
                   const std::vector<std::string>& unknown_traits, MonotonicTime now,
                   const LimitsByProvider& limits);
  // Calls NodeReports::Reject. `tree`: the providers that placement has, if placement sent them. If
  // the report was in flight, `tree` replaces the providers in the records, and is audited at once.
  // Returns false if placement refused for good to move resources (T-197), else true.
  bool Reject(int64_t sequence, ReportRefusal how, std::optional<std::vector<KnownProvider>> tree,
              MonotonicTime now);
  // Instead of Reject, if the limits of placement's access file may have caused a refusal: calls
  // NodeReports::PutOffMoves, and if that returns true, audits at once. Returns what it returns.
  bool PutOffMoves(int64_t sequence, MonotonicTime now);
  // Returns the warnings of all audits since the last call, for the log.
  std::vector<std::string> TakeWarnings();
  // See Node::accounting.
  std::optional<Accounting> accounting() const;

 private:
  using Cause = NodeReports::Cause;

  // Audits the facts of the state with its records, keeps the audit, and gives it to NodeReports.
  // Fails only for kPass: facts that have passed an audit pass it again.
  //
  // REQUIRES: there are facts.
  absl::Status AuditFor(MonotonicTime now, Cause cause);
  // Audits all changes of records until now, and begins kAuditPause.
  void AuditNow(MonotonicTime now);
  // Gives the account what the node has by the facts, and the state the settings for claims.
  // Changes neither if it fails.
  absl::Status TakeResources();
  const Records* records() const { return state_->records ? &*state_->records : nullptr; }

  absl::Time (*const wall_clock_)();
  const absl::Duration orphan_confirmation_;
  NodeState* const state_;
  NodeReports* const reports_;
  const AddedTraitsFile* const added_traits_;
  // The configuration with which the facts were observed.
  std::shared_ptr<const NodeConfiguration> configuration_;
  MonotonicTime audit_changes_at_ = {};  // changes are audited from this time on
  std::vector<std::string> warnings_;    // that nobody has taken yet
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_NODE_AUDITS_H_
