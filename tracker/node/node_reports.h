// NodeReports: which audits of a node are reported to placement, and when. Owns the outbox, and
// remembers what placement has refused.
//
// Sends nothing itself. Not thread-safe; the node's lock protects it.
//
// Invariants:
//   1. The outbox has the newest audit, or one whose report has the same digest, unless due() says
//      when the outbox gets the newest audit.
//   2. After placement has refused allocations for good, reports leave allocations out as Reject
//      says. A report that moves resources leaves nothing out.
#ifndef BERTH_TRACKER_NODE_NODE_REPORTS_H_
#define BERTH_TRACKER_NODE_NODE_REPORTS_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tracker/audit/report.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/uuid.h"
#include "tracker/node/node_state.h"
#include "tracker/node/outbox.h"
#include "tracker/settings/added_traits.h"

namespace berth::tracker {

class NodeReports {
 public:
  // If an audit for kPush changes only the accounting, it waits at most this long for another
  // report (Take). Mostly a claim has caused the change, and placement has written the claim itself:
  // a report for each claim would double placement's writes.
  static constexpr std::chrono::seconds kAccountPause{5};

  // Why the facts were audited.
  enum class Cause {
    kPass,     // a pass has new facts
    kRecords,  // the first records came, or placement refused a report and sent its providers
    kPush,     // the records have changed in another way
  };

  // `state` and `added_traits` must outlive the reports.
  NodeReports(NodeState* state, AddedTraitsFile* added_traits)
      : state_(state), added_traits_(added_traits) {}

  const Outbox& outbox() const { return outbox_; }
  // Since when the outbox has not been settled (Outbox::settled). This is looked at only when an
  // audit is offered or a report is acknowledged. Absent: the outbox was settled then.
  std::optional<MonotonicTime> unsettled_since() const { return unsettled_since_; }

  // Call the methods of the Outbox with the same names. Welcome also forgets which allocations
  // placement has refused.
  void Welcome(Standing standing, int64_t last_sequence);
  void OrderSnapshot() { outbox_.OrderSnapshot(); }
  void Disconnect() { outbox_.Disconnect(); }
  // To be called when placement has applied the report `sequence`. Does nothing if that report is
  // not in flight. Puts the report's providers into the records, with `generations`, by provider
  // uuid. `unknown_traits`: the traits that placement does not know and has left out. `limits`: what
  // else placement has not stored as asked. They replace the recorded limits of the providers in
  // `generations`, which are those that the report named.
  //
  // REQUIRES: the state has an account.
  void Acknowledge(int64_t sequence, const std::map<Uuid, int64_t>& generations,
                   const std::vector<std::string>& unknown_traits, MonotonicTime now,
                   const LimitsByProvider& limits = {});

  // The functions from here on are for NodeAudits, which has functions for everybody else.

  // Removes allocations from the report of a new audit after a refusal, as Reject says. A report
  // that moves resources stays as it is.
  void LeaveOutRefused(Report* report) const;
  // To be called after each audit, when the state has it. Offers the audit to the outbox, unless
  // all of this holds: `cause` is kPush; there is an audit `before`; the digests of the two reports
  // are equal but for the accounting; and placement's providers and allocations are as the report
  // asks, apart from unknown traits and from limits, or no report was acknowledged yet. Then a changed accounting
  // waits for the next report, or until due(). `before`: the audit before this one; null: there was
  // none.
  void Take(const Audit* before, Cause cause, MonotonicTime now);
  // Offers the audit that waits to the outbox, if due() is not after `now`.
  void OfferDue(MonotonicTime now);
  // Until when an audit waits. Nothing: none waits.
  std::optional<MonotonicTime> due() const { return account_due_; }
  // Returns the report to send now: see Outbox::Next. If one is to be sent, an audit that waits is
  // offered before.
  std::optional<Outbox::Outgoing> Next(MonotonicTime now);
  // To be called when placement has refused the report `sequence`. Returns nothing, and changes
  // nothing, if that report is not in flight. Returns false if placement refused for good to move
  // resources (T-197), else true.
  //
  // If the report had allocations (Report::holdings) and was refused for good, audits until the
  // next Welcome leave allocations out of reports that move no resources. If it had those of one
  // consumer, these are left out while the consumer's generation stays. If it had those of several,
  // a report has those of one consumer at most: placement does not say which ones it refused.
  std::optional<bool> Reject(int64_t sequence, ReportRefusal how);
  // Instead of Reject, if only a change of placement's limits, and none of the host's settings, would
  // help. Returns false, and changes nothing, unless that report is in flight and moves resources.
  // Else may_move() is false from then on, and another report may be sent before the next pass.
  bool PutOffMoves(int64_t sequence);
  // Whether a report may move resources (T-209): until one was acknowledged, and until PutOffMoves.
  bool may_move() const { return !moves_are_off_ && outbox_.acknowledged_sequence() == 0; }

 private:
  // Offers the newest audit to the outbox. `pass` and `repair`: see Outbox::Offer.
  void Offer(bool pass, bool repair, MonotonicTime now);
  bool Drifted() const;
  // Sets the recorded limits after an answer. `report`: the one that was answered.
  void TakeLimits(const Report& report, const std::map<Uuid, int64_t>& generations,
                  const LimitsByProvider& limits);
  void NoteSettled(MonotonicTime now);

  NodeState* const state_;
  AddedTraitsFile* const added_traits_;
  Outbox outbox_;
  // Until when the newest audit waits. Absent: the outbox has the newest audit, or one whose report
  // has the same digest.
  std::optional<MonotonicTime> account_due_;
  std::optional<MonotonicTime> unsettled_since_;
  // The traits of acknowledged reports that placement did not know.
  std::set<std::string> unknown_traits_;
  // The consumers, with their generations, of reports that had allocations of one consumer and that
  // placement has refused for good since the last Welcome.
  std::set<std::pair<Uuid, int64_t>> refused_holdings_;
  // Placement has refused allocations of several consumers together for good. So until the next
  // Welcome the report of an audit has those of one at most, unless it moves resources.
  bool heals_singly_ = false;
  bool moves_are_off_ = false;  // until the process ends
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_NODE_REPORTS_H_
