// NodeClaims: the claims on a node and their ends, from the call to placement's answer. It has the
// writes of records, the answers that repeats get, and the callers that wait.
//
// Waits for nothing and calls nobody: callers are answered by the ClaimReplies that each function
// fills. Not thread-safe; the node's lock protects it.
//
// Invariants:
//   1. A claim counts in the account from the moment in which it is tested, until placement's records
//      decide, or until it is known that placement never writes it.
//   2. A caller is answered exactly once. It waits for a write of its instance, for a record, or for
//      nothing.
//   3. An instance has at most one write: see RecordWrites.
#ifndef BERTH_TRACKER_NODE_NODE_CLAIMS_H_
#define BERTH_TRACKER_NODE_NODE_CLAIMS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tracker/claims/answers.h"
#include "tracker/claims/claim.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/uuid.h"
#include "tracker/node/claim_replies.h"
#include "tracker/node/node_state.h"
#include "tracker/node/outbox.h"
#include "tracker/node/record_waiters.h"
#include "tracker/node/record_writes.h"

namespace berth::tracker {

// Names the side of a move that is to be given up.
struct MoveDrop {
  Uuid instance_uuid;
  Uuid migration_uuid;
  ClaimEnd side = ClaimEnd::kConfirm;  // or kRevert
};

class NodeClaims {
 public:
  // `outbox`: says whether there is a session with placement. Both outlive the claims.
  NodeClaims(NodeState* state, const Outbox* outbox) : state_(state), outbox_(outbox) {}

  // Claims what an instance needs on the node (T-155), by tracker::ClaimInstance, or what a
  // migration needs there (T-168), by tracker::ClaimMove: tests and marks, then lets placement write
  // the record. Placement writes the migration in the same step. The caller gets the claim when
  // placement has written it. A repeat with the id and the body of an earlier request gets the same
  // claim again.
  //
  // Refused, in this order, with a ClaimRefusal: kRequestIdReused; kAlreadyClaimed, or kUnsettled if
  // a pass corrects the record, while another write of the instance is under way; kTooLate;
  // kNodeUnavailable; kPlacementAway or kOverloaded; as the rule refuses; kNodeUnavailable if a
  // record cannot be read and the claim takes cells, devices or units, or if the record of an
  // instance that moves has more than this release can read, which the write would lose;
  // kWrongState. Then, by placement's answer, kRecordConflict, kInstanceNotFound, kNodeUnavailable or kPlacementAway. After all of
  // these nothing is claimed. kOutcomeUnknown if the session ended before the answer: the claim
  // counts until the next session tells.
  //
  // `Request`: InstanceClaim or MoveClaim.
  template <typename Request>
  void Claim(const Request& request, ClaimCaller caller, ClaimReplies* replies);
  // Gives the claim with this id of ClaimIdOf back (T-165, T-170). A claim that was not written yet
  // ends at once, else placement first writes the records without the claim; a migration then has
  // the status `failed`. A claim whose guest needs it by now stays, and the caller gets ended =
  // false: the instance has left the state in which it was claimed, or it has arrived. Needs no
  // hypervisor.
  //
  // Refused with kUnsettled while it is not known whether the claim was written: to be repeated.
  // Then, in this order, with kTooLate; kNodeUnavailable; kPlacementAway or kOverloaded;
  // kNoSuchClaim; kUnsettled if another write of the instance is under way; kNodeUnavailable if a
  // record has more than this release can read, which the write would lose; by placement's answer
  // like Claim, or with kWrongState.
  void Abort(const std::string& claim_id, ClaimCaller caller, ClaimReplies* replies);
  // Ends a move on one of its sides, and with it the move: placement writes both records, and
  // settles what their consumers hold (T-173, T-174). If the node holds nothing on this side, the
  // caller gets ended = false.
  //
  // Refused like Abort, but never with kNoSuchClaim. Before the last kNodeUnavailable, refused with
  // kWrongState if the move cannot end so: see ConfirmMove and RevertMove.
  void DropMove(const MoveDrop& request, ClaimCaller caller, ClaimReplies* replies);
  // Waits until the account has the record of the instance as the caller knows it, or a newer one
  // (T-116). Changes nothing: placement pushes the record. The caller gets tracked = false if the
  // instance does not count on the node, before or afterwards.
  //
  // Refused, in this order, with kTooLate; kNodeUnavailable; kPlacementAway; kOverloaded if too
  // many callers wait. kPlacementAway, too, if the session ends first, and kTooLate if the caller's
  // deadline passes.
  void UpdateUsage(const Instance& known, ClaimCaller caller, ClaimReplies* replies);

  // Returns the write of records to send now, if there is one: see RecordWrites::Next. A write for
  // which nobody waits any more is dropped (T-385).
  std::optional<RecordWrites::Outgoing> NextWrite(MonotonicTime now, ClaimReplies* replies);
  // To be called when placement has answered the write `id`, after the records of the answer were
  // applied to the account. Returns false, and changes nothing, if no write with this id waits for
  // an answer.
  //
  // InvalidArgument says that the write is malformed, and PermissionDenied that the records do not
  // concern the host. Both mean that the write was not applied and never will be, so they end a
  // withdrawal, too.
  bool AnswerWrite(int64_t id, const absl::Status& answer, MonotonicTime now,
                   ClaimReplies* replies);
  // To be called when records have come. `first`: placement has sent none before.
  void RecordsCame(bool first, ClaimReplies* replies);
  // To be called when the session has ended.
  void Disconnect(ClaimReplies* replies);
  // Lets placement write what FindRepairs and FindInterrupted find, unless the instance is being
  // claimed or written. Returns texts for the log: what is written, which repairs of earlier passes
  // failed (T-131), and once for each instance what people have to do with it.
  //
  // REQUIRES: there are facts.
  std::vector<std::string> RepairRecords(absl::Time booted_at);

 private:
  // Whether the node can let placement write records now.
  absl::Status CheckWrites(const ClaimCaller& caller) const;
  // Whether the node takes claims now.
  absl::Status CheckClaims(const ClaimCaller& caller) const;
  // Answers a claim of an instance that has a write already, or lets it wait for the write.
  void Join(const std::string& request_id, const std::string& body, ClaimCaller caller,
            RecordWrites::Write* write, ClaimReplies* replies) const;
  // Lets one more caller wait for the write.
  void Await(ClaimCaller caller, RecordWrites::Write* write, ClaimReplies* replies) const;
  // Lets placement write the records without the claim, unless that is under way.
  void End(const Uuid& instance_uuid, const std::string& claim_id, ClaimEnd end, ClaimCaller caller,
           ClaimReplies* replies);
  void AnswerClaim(RecordWrites::Write* write, const absl::Status& answer, MonotonicTime now,
                   ClaimReplies* replies);
  void AnswerEnd(RecordWrites::Write* write, const absl::Status& answer, ClaimReplies* replies);
  // The claim is in placement's records, or is in none and ends.
  void Grant(RecordWrites::Write write, ClaimReplies* replies);
  void Undo(RecordWrites::Write write, const absl::Status& status, ClaimReplies* replies);

  NodeState* const state_;
  const Outbox* const outbox_;
  RecordWrites writes_;
  ClaimAnswers answers_;
  RecordWaiters waiters_;
  std::vector<std::string> failed_repairs_;  // since the last pass
  // The generations of the instances in the first records. Only records that have not changed since
  // can be interrupted (T-33).
  std::map<Uuid, int64_t> first_generations_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_NODE_CLAIMS_H_
