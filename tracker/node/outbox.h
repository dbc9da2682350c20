// Outbox: decides which report of a node is sent to placement, and when. Only the newest audit is
// reported: one that was not reported before the next one comes is dropped. Two reports are equal
// if their digests are.
//
// Sends nothing itself. Not thread-safe.
//
// Invariants:
//   1. At most one report is in flight: Next has given it out, and its answer is awaited. At most
//      one report waits to be sent (T-227, T-231).
//   2. The number of a report is larger than the numbers of all earlier reports of this process,
//      apart from those that placement refused. A delta is based on the last acknowledged report.
//   3. A report that is equal to the last acknowledged report is sent only if placement wants a
//      snapshot (kSendAll), or if `repair` was set in Offer: then it is a repairing report.
//   4. Repairing reports, and refusals after which another report may follow (kAgain), are counted
//      together since the last audit of a pass. After four of them, or after a refusal for good, no
//      report is sent before the next audit of a pass (T-229). A report that is refused until later
//      (kLater) is not counted, also if it repairs.
#ifndef BERTH_TRACKER_NODE_OUTBOX_H_
#define BERTH_TRACKER_NODE_OUTBOX_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tracker/audit/audit.h"

namespace berth::tracker {

// What a node may send to placement in the present session.
enum class Standing {
  kNone,     // no session, or no answer about this node: neither reports nor record writes
  kKnown,    // placement has the last report: the next one when something has changed
  kSendAll,  // a snapshot
  kWait,     // no reports until placement asks for a snapshot
  kStandby,  // the tracker may not report the node: as for kNone (T-14, T-387)
  kRefused,  // the node's identity contradicts the records: as for kNone (T-20)
};

// What a refusal of a report says about the next report.
enum class ReportRefusal {
  kForGood,  // an equal one would be refused, too
  kAgain,    // it may be sent before the next pass, within invariant 4 of Outbox
  kLater,    // it may be sent whenever the caller asks for it: the caller paces it
};

class Outbox {
 public:
  static constexpr int kTriesInARowMax = 4;  // see invariant 4

  struct Outgoing {
    int64_t sequence = 0;
    bool snapshot = false;
    bool repairs = false;  // it is a repairing report
    std::string digest;
    std::shared_ptr<const Audit> audit;
    std::shared_ptr<const Audit> base;  // of a delta: what it is based on; null: a snapshot
  };

  // Stores the newest audit, which Next() reports from now on. `pass`: the audit is that of a pass,
  // so the count of invariant 4 begins anew. `repair`: placement's providers or allocations are not
  // as the audit's report asks, so the report may be sent though it equals the acknowledged one.
  void Offer(std::shared_ptr<const Audit> audit, bool pass, bool repair);

  // Whether a report is to be sent now.
  bool HasReport() const;
  // Returns the report to send now, which is in flight from then on. Nothing: no report is to be
  // sent now.
  std::optional<Outgoing> Next();

  // To be called when placement has answered a Hello. No report is in flight afterwards.
  // `last_sequence`: the number of the last report of this process that placement has applied; 0:
  // none. The next report is a snapshot, unless `standing` is kKnown, and this number is that of
  // the last acknowledged report and also of the last report that was sent and not refused.
  void Welcome(Standing standing, int64_t last_sequence);
  // To be called when placement asks for a snapshot. Does nothing in kStandby and kRefused. If a
  // delta is in flight, its answer no longer counts; a snapshot in flight is the one asked for.
  void OrderSnapshot();
  // To be called when placement has applied the report `sequence`. Returns false, and changes
  // nothing, if that report is not in flight.
  bool Acknowledge(int64_t sequence);
  // To be called when placement has refused the report `sequence`. Returns false, and changes
  // nothing, if that report is not in flight.
  bool Reject(int64_t sequence, ReportRefusal how);
  // To be called when the session has ended. No report is in flight afterwards: the next Welcome
  // says whether the last one was applied.
  void Disconnect();

  Standing standing() const { return standing_; }
  int64_t sequence() const { return sequence_; }
  int64_t acknowledged_sequence() const { return acknowledged_sequence_; }
  const std::optional<Outgoing>& in_flight() const { return in_flight_; }
  // The digest of the last acknowledged report. Empty: no report was acknowledged yet.
  const std::string& acknowledged_digest() const { return acknowledged_digest_; }
  // Whether placement has all that was offered: the newest report is equal to the last acknowledged
  // one, nothing is in flight, and neither a snapshot nor a repairing report is wanted. True if no
  // audit was offered.
  bool settled() const;
  int64_t reports_sent() const { return reports_sent_; }
  int64_t reports_coalesced() const { return reports_coalesced_; }
  int64_t reports_rejected() const { return reports_rejected_; }

 private:
  bool MaySend() const;

  Standing standing_ = Standing::kNone;
  bool snapshot_wanted_ = true;  // the first report of a process is always a snapshot
  bool repair_wanted_ = false;
  int tries_in_a_row_ = 0;
  int64_t sequence_ = 0;      // one less than the number of the next report
  int64_t sequence_max_ = 0;  // the largest number that a report has had
  int64_t acknowledged_sequence_ = 0;
  std::shared_ptr<const Audit> newest_;
  std::string newest_digest_;
  std::shared_ptr<const Audit> acknowledged_;
  std::string acknowledged_digest_;
  std::optional<Outgoing> in_flight_;
  int64_t reports_sent_ = 0;
  int64_t reports_coalesced_ = 0;
  int64_t reports_rejected_ = 0;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_OUTBOX_H_
