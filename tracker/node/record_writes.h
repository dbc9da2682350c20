// RecordWrites: the writes of records by which the claims of a node, the ends of claims, and the
// repairs of a pass get into placement's ledger. Each write waits to be sent, waits for its answer,
// or is in doubt.
//
// Sends nothing itself. Not thread-safe; the node's lock protects it.
//
// Invariants:
//   1. An instance has at most one write.
//   2. Placement may apply a write that Next gave out until placement answers it, even after the
//      session. So when the session ends, such a write of a claim stays, in doubt. A later session
//      sends its withdrawal: a write that changes only generations and updated_at of the records,
//      so that the claim can no longer be applied. The write stays until an answer tells what
//      became of the claim.
//   3. A write that Next did not give out yet has no effect at placement, and may be dropped.
#ifndef BERTH_TRACKER_NODE_RECORD_WRITES_H_
#define BERTH_TRACKER_NODE_RECORD_WRITES_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tracker/account/open_claim.h"
#include "tracker/audit/accounting.h"
#include "tracker/ground/uuid.h"
#include "tracker/node/claim_replies.h"

namespace berth::tracker {

// What a write does if it makes no claim.
enum class ClaimEnd {
  kAbort,    // gives a claim back
  kConfirm,  // ends a move: the source gives up what it kept for a way back
  kRevert,   // ends a move: the destination gives up what was claimed there
  kRepair,   // ends no claim: a pass corrects the records
};

class RecordWrites {
 public:
  // NodeClaims adds no write while there are so many. A host builds far fewer guests at a time.
  static constexpr size_t kMax = 1024;

  enum class State {
    kUnsent,
    kSent,     // Next gave out the write, or its withdrawal, in the present session; not answered
    kInDoubt,  // a claim that may or may not have been applied: its withdrawal is to be sent
  };

  struct Write {
    OpenClaim claim;              // that the write makes or ends; a repair sets only its instance
    std::optional<ClaimEnd> end;  // absent: the write makes the claim
    // The records to be written, with the generations on which the write is based.
    Instance instance;
    std::optional<Migration> migration;
    bool ends_move = false;  // placement ends the move, with the status of `migration`
    std::vector<ClaimCaller> callers;
    State state = State::kUnsent;
    bool withdraws = false;         // Next gave out the withdrawal of the write
    int tries = 0;                  // how many conflicts the end of a claim has had
    MonotonicTime not_before = {};  // Next gives the write out from this time on
  };

  // What is to be sent.
  struct Outgoing {
    int64_t id = 0;
    Instance instance;
    std::optional<Migration> migration;
    bool withdraw = false;    // a withdrawal: of the records only uuids and generations count
    bool ends_move = false;   // like Write::ends_move
    bool sets_state = false;  // the state and the task of the instance are written, too
  };

  size_t size() const { return writes_.size(); }
  // REQUIRES: the instance has no write.
  void Add(Write write);
  // The write of the instance, or null. The pointer is valid until the next change.
  Write* FindInstance(const Uuid& instance_uuid);
  // The write whose claim has this id (ClaimIdOf), or null. It may be a repair.
  Write* FindClaim(const std::string& claim_id);
  // The write in state kSent that Next gave out with this id, or null.
  Write* FindSent(int64_t id);

  // Gives out the next write: first the withdrawals of those in doubt, then the unsent ones, each
  // group oldest first. Nothing: there is none to be sent now.
  std::optional<Outgoing> Next(MonotonicTime now);
  // Removes and returns the unsent writes whose callers have all gone.
  std::vector<Write> TakeAbandoned();
  // Removes and returns the write of the instance.
  //
  // REQUIRES: there is one.
  Write Take(const Uuid& instance_uuid);
  // Removes the callers from all writes, and returns them.
  std::vector<ClaimCaller> TakeCallers();
  // To be called at the end of a session. Removes and returns the unsent writes, the ends of
  // claims, and the repairs. The other writes are in doubt from then on.
  std::vector<Write> Disconnect();

 private:
  template <typename Predicate>
  std::vector<Write> TakeIf(Predicate predicate);

  int64_t last_id_ = 0;
  std::map<int64_t, Write> writes_;  // by id; in the order in which they came
};

// Placement's answer to a write.
struct WriteAnswer {
  absl::Status status;
  // With PermissionDenied: placement names the record that this tracker may not write. False: it
  // lets this tracker write nothing for the node.
  bool denies_record = false;
  // With FailedPrecondition: the policy of the instance's server group forbids this host.
  bool breaks_group = false;
};

// Whether the write gives back what was claimed: it is an abort or a revert.
bool GivesBack(const RecordWrites::Write& write);

// Returns the refusal of a call whose write was refused with `answer`. `ends`: the write makes no
// claim. InvalidArgument is returned as it is. The kinds for the other codes:
//   Aborted             kRecordConflict
//   NotFound            kInstanceNotFound
//   PermissionDenied    kNodeUnavailable
//   FailedPrecondition  kWrongState if `ends`, kGroupPolicy if `breaks_group`, else kPlacementAway
//   else                kPlacementAway
absl::Status RefusalBy(const WriteAnswer& answer, bool ends);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_RECORD_WRITES_H_
