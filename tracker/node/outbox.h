// Outbox: decides which report of a node is sent to placement, and when. If a report was not sent
// yet, a newer report replaces it.
//
// Sends nothing itself. Not thread-safe.
//
// Invariants:
//   1. At most one report is in flight, which means sent but not answered. At most one report waits
//      to be sent (T-227, T-231).
//   2. The sequence numbers of the reports of one incarnation rise. A delta is based on the last
//      acknowledged report.
//   3. A report that is equal to the acknowledged report is sent only if placement asks for it, or
//      if placement's providers differ from the acknowledged report.
//   4. A report that is sent because placement's providers differ is a repairing report. After four
//      refused or repairing reports in a row no report is sent before the next pass (T-229).
#ifndef BERTH_TRACKER_NODE_OUTBOX_H_
#define BERTH_TRACKER_NODE_OUTBOX_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tracker/audit/audit.h"

namespace berth::tracker {

// Which reports placement wants from a node in the present session.
enum class Standing {
  kNone,     // there is no session, or placement has not answered the Hello yet
  kKnown,    // placement has the last report: deltas are sent
  kSendAll,  // placement wants a snapshot
  kWait,     // placement will ask for a snapshot later: until then nothing is sent
  kStandby,  // the node belongs to another tracker that is alive: nothing is sent (T-14)
  kRefused,  // the node's identity contradicts the records: nothing is sent (T-20)
};

class Outbox {
 public:
  static constexpr int kTriesInARowMax = 4;

  struct Outgoing {
    int64_t sequence = 0;
    bool snapshot = false;
    std::string digest;
    std::shared_ptr<const Audit> audit;
    std::shared_ptr<const Audit> base;  // of a delta: the last acknowledged audit
  };

  // Stores the newest audit, which Next() reports from now on. `pass`: the audit comes from a pass,
  // so the count of refused and repairing reports in a row begins at 0. `repair`: placement's
  // providers differ from the acknowledged report.
  void Offer(std::shared_ptr<const Audit> audit, bool pass, bool repair);

  // Whether a report is to be sent now.
  bool HasReport() const;
  // Returns the report to send now, which is in flight from then on. Nothing: no report is to be
  // sent now.
  std::optional<Outgoing> Next();

  // To be called when placement has answered a Hello. `standing`: which reports placement wants
  // from the node. `last_sequence`: the number of the last report of this incarnation that
  // placement has applied. If no report has had this number, the next report is a snapshot.
  void Welcome(Standing standing, int64_t last_sequence);
  // To be called when placement asks for a snapshot. If a delta is in flight, its answer no longer
  // counts.
  void OrderSnapshot();
  // To be called when placement has applied the report `sequence`. Returns false, and changes
  // nothing, if that report is not in flight.
  bool Acknowledge(int64_t sequence);
  // To be called when placement has refused the report `sequence`. `again`: another report may be
  // sent before the next pass. Returns false, and changes nothing, if that report is not in flight.
  bool Reject(int64_t sequence, bool again);
  // To be called when the session has ended. The next Welcome says whether a report in flight was
  // applied.
  void Disconnect();

  Standing standing() const { return standing_; }
  int64_t sequence() const { return sequence_; }
  int64_t acknowledged_sequence() const { return acknowledged_sequence_; }
  const std::optional<Outgoing>& in_flight() const { return in_flight_; }
  // The digest of the last acknowledged report, for Hello. Empty: no report was acknowledged yet.
  const std::string& acknowledged_digest() const { return acknowledged_digest_; }
  // Whether placement has acknowledged the report of the newest audit, and placement's providers
  // still agree with this report.
  bool settled() const;
  int64_t reports_sent() const { return reports_sent_; }
  int64_t reports_coalesced() const { return reports_coalesced_; }
  int64_t reports_rejected() const { return reports_rejected_; }

 private:
  bool MaySend() const;

  Standing standing_ = Standing::kNone;
  bool snapshot_wanted_ = true;  // the first report of an incarnation is always a snapshot
  bool repair_wanted_ = false;
  int tries_in_a_row_ = 0;
  int64_t sequence_ = 0;      // number of the last report that was sent and not refused
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
