// What is to be told of one node, and when: the newest report wins, one is on its way at most.
//
// Decisions only: what it hands out is sent elsewhere. Not thread-safe; its node guards it.
//
// Invariants:
//   1. At most one report is in flight, and at most one waits (T-227, T-231).
//   2. Sequence numbers of one incarnation rise; a delta follows the report that was acknowledged last.
//   3. What placement is known to hold is not sent again.
//   4. After four refused or repairing reports in a row nothing is sent before the next pass (T-229).
#ifndef BERTH_TRACKER_NODE_OUTBOX_H_
#define BERTH_TRACKER_NODE_OUTBOX_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tracker/audit/audit.h"

namespace berth::tracker {

// What placement wants of a node in this session.
enum class Standing {
  kNone,     // no session, or not answered yet
  kKnown,    // the last report stands
  kSendAll,  // a snapshot is wanted
  kWait,     // a snapshot is wanted, once it asks
  kStandby,  // another incarnation has the lease: nothing is sent (T-14)
  kRefused,  // its identity contradicts the records: nothing is sent (T-20)
};

class Outbox {
 public:
  static constexpr int kTriesInARowMax = 4;

  struct Outgoing {
    int64_t sequence = 0;
    bool snapshot = false;
    std::string digest;
    std::shared_ptr<const Audit> audit;
    std::shared_ptr<const Audit> base;  // of a delta: what was acknowledged last
  };

  // The newest audit. `pass` says that it comes from a pass, after which tries count anew; `repair`
  // that placement holds something else than what it acknowledged.
  void Offer(std::shared_ptr<const Audit> audit, bool pass, bool repair);

  // The report to send now, which is in flight from then on; nothing when there is none to send.
  std::optional<Outgoing> Next();

  // The session began, or spoke anew of this node: what placement wants, and the last number that it
  // applied of this incarnation.
  void Welcome(Standing standing, int64_t last_sequence);
  // Placement asks for a snapshot; a delta in flight is not answered any more.
  void OrderSnapshot();
  // The answer to a report. False when no such report is in flight: it is passed over.
  bool Acknowledge(int64_t sequence);
  // `again` says that it may be sent anew, merged. False as above.
  bool Reject(int64_t sequence, bool again);
  // The session ended. Whether a report in flight was applied, the next session tells.
  void Disconnect();

  Standing standing() const { return standing_; }
  int64_t sequence() const { return sequence_; }
  int64_t acknowledged_sequence() const { return acknowledged_sequence_; }
  bool in_flight() const { return in_flight_.has_value(); }
  const std::optional<Outgoing>& flight() const { return in_flight_; }
  // The digest for Hello: of the last report that was acknowledged. Empty: none was.
  const std::string& acknowledged_digest() const { return acknowledged_digest_; }
  // Everything offered is acknowledged.
  bool settled() const;
  int64_t reports_sent() const { return reports_sent_; }
  int64_t reports_coalesced() const { return reports_coalesced_; }
  int64_t reports_rejected() const { return reports_rejected_; }

 private:
  bool MaySend() const;

  Standing standing_ = Standing::kNone;
  bool snapshot_wanted_ = true;  // the first report of an incarnation is always one
  bool repair_wanted_ = false;
  int tries_in_a_row_ = 0;
  int64_t sequence_ = 0;  // of the last report that was sent
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
