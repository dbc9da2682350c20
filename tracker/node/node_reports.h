// NodeReports: which audits of a node are reported to placement, and when. It has the outbox, and
// knows what placement has refused.
//
// Sends nothing itself. Not thread-safe; the node's lock protects it.
//
// Invariants:
//   1. The outbox has the newest audit, or one with the same content, unless due() says when it gets
//      the newest audit.
//   2. Allocations that placement has refused for good are left out of the session's later reports,
//      until the generation of their consumer changes. A report that moves resources leaves nothing
//      out.
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
  // How long a change of the accounting alone waits for others before it is reported. Placement
  // writes such a report beside the claims themselves, so one for each claim would be too many.
  static constexpr std::chrono::seconds kAccountPause{5};

  // Why the facts were audited.
  enum class Cause {
    kPass,     // a pass has new facts
    kRecords,  // the first records came, or placement refused a report and sent its providers
    kPush,     // the records have changed
  };

  // Both outlive the reports.
  NodeReports(NodeState* state, AddedTraitsFile* added_traits)
      : state_(state), added_traits_(added_traits) {}

  const Outbox& outbox() const { return outbox_; }
  // Since when the outbox is not settled. Absent: it is settled.
  std::optional<MonotonicTime> unsettled_since() const { return unsettled_since_; }

  // Call the methods of the Outbox with the same names. Welcome also begins a session in which
  // placement has refused nothing yet.
  void Welcome(Standing standing, int64_t last_sequence);
  void OrderSnapshot() { outbox_.OrderSnapshot(); }
  void Disconnect() { outbox_.Disconnect(); }
  // To be called when placement has applied the report `sequence`. The providers of the report go
  // into the records, with `generations`, by provider uuid. `unknown_traits`: the traits that
  // placement does not know.
  void Acknowledge(int64_t sequence, const std::map<Uuid, int64_t>& generations,
                   const std::vector<std::string>& unknown_traits, MonotonicTime now);

  // The functions from here on are for NodeAudits, which audits before or afterwards.

  // Leaves out of the report of a new audit what placement has refused: see Reject.
  void LeaveOutRefused(Report* report) const;
  // Offers the state's audit, which is new, to the outbox. If the audit was made for kPush, and only
  // the accounting differs from the audit `before`, it waits for the next report or for
  // kAccountPause. `before` is null if there was no audit.
  void Take(const Audit* before, Cause cause, MonotonicTime now);
  // Offers the audit that waits to the outbox, if it has waited long enough.
  void OfferDue(MonotonicTime now);
  // When OfferDue will have something to do. Nothing: no audit waits.
  std::optional<MonotonicTime> due() const { return account_due_; }
  // Returns the report to send now, if there is one: see Outbox::Next. It is that of the newest
  // audit.
  std::optional<Outbox::Outgoing> Next(MonotonicTime now);
  // To be called when placement has refused the report `sequence`: see Outbox::Reject. If placement
  // refused the allocations of one consumer for devices, they are left out until the consumer's
  // generation changes or the session ends. If it refused those of several, each following report
  // has those of one. Returns whether placement may accept another report; if not, it refused for
  // good to move resources (T-197). Nothing: the report is not in flight.
  std::optional<bool> Reject(int64_t sequence, bool again);

 private:
  // Offers the newest audit to the outbox. `pass` and `repair`: see Outbox::Offer.
  void Offer(bool pass, bool repair, MonotonicTime now);
  bool Drifted() const;
  void NoteSettled(MonotonicTime now);

  NodeState* const state_;
  AddedTraitsFile* const added_traits_;
  Outbox outbox_;
  // When the accounting of the newest audit is to be reported. Absent: the outbox has the newest
  // audit, or one with the same content.
  std::optional<MonotonicTime> account_due_;
  std::optional<MonotonicTime> unsettled_since_;
  // The traits of acknowledged reports that placement does not know.
  std::set<std::string> unknown_traits_;
  // The consumers, with their generations, whose allocations for devices placement has refused in
  // the present session.
  std::set<std::pair<Uuid, int64_t>> refused_holdings_;
  // Placement has refused the allocations of several consumers together. The rest of the session
  // reports one at a time, so that one that cannot be made does not hinder the others.
  bool heals_singly_ = false;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_NODE_REPORTS_H_
