// NodeClaims: the claims on a node and their ends, from the call to placement's answer. Keeps the
// writes of records, the answers for repeated requests, and the callers that wait.
//
// Waits for nothing and answers nobody: the answers go into ClaimReplies. Of a caller it calls only
// `gone`. Not thread-safe; the node's lock protects it.
//
// Invariants:
//   1. A claim counts in the account from its test on, until placement's records decide about it,
//      or until it is known that placement never writes it.
//   2. A caller is answered exactly once: at once, or after waiting for a write of its instance or
//      for a record.
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
  ClaimEnd side = ClaimEnd::kConfirm;  // the source; or kRevert: the destination
};

// Names like kTooLate are kinds of refusals (ClaimRefusalKind). Two groups of refusals are common
// to several calls:
//   Refusals before a write, in this order: kTooLate if the caller has gone; kNodeUnavailable if
//     there are no records yet, or if the Standing of the node is kStandby or kRefused;
//     kPlacementAway if the Standing is kNone; kOverloaded if there are RecordWrites::kMax writes.
//   Refusals of a write: as RefusalBy says, if the write is refused; kPlacementAway if the session
//     ends before the write is sent, or if the claim is withdrawn; kOutcomeUnknown if the session
//     ends, or has ended, after the write was sent and before it was answered, or if the caller has
//     gone when another one begins to wait; kTooLate if all callers have gone before the write is
//     sent.
class NodeClaims {
 public:
  // `outbox`: its standing says whether placement takes writes of this node now. `state` and
  // `outbox` must outlive the claims.
  NodeClaims(NodeState* state, const Outbox* outbox) : state_(state), outbox_(outbox) {}

  // Claims what an instance needs on the node (T-155), by tracker::ClaimInstance, or what a
  // migration needs there (T-168), by tracker::ClaimMove. The claim counts at once. The caller gets
  // the claim when placement has written its records. A repeat, with the id, the instance and the
  // body of a claim that was granted (ClaimAnswers) or is being written, is answered like that
  // claim.
  //
  // Refused, in this order:
  //   kRequestIdReused if the id belongs to a granted claim with another instance or body
  //   while the instance has a write: kUnsettled if a pass corrects its record; kAlreadyClaimed,
  //     unless the write makes the claim with this id; then kRequestIdReused for another body
  //   the refusals before a write; kNodeUnavailable also if no pass was good yet, or if the
  //     hypervisor did not answer in the last pass
  //   as ClaimInstance or ClaimMove refuses
  //   kNodeUnavailable if the record of an instance that moves has more than this release can read,
  //     which the write would lose; or if the account has a record that could not be read in full,
  //     and the claim takes cells, devices or units
  //   kWrongState if what was claimed would not count once it is recorded
  //   the refusals of a write; kRecordConflict also if Abort ends the claim
  // A refused request has claimed nothing. Exception: after kOutcomeUnknown the claim counts as
  // long as placement may have written it, or may still write it.
  //
  // `Request`: InstanceClaim or MoveClaim.
  template <typename Request>
  void Claim(const Request& request, ClaimCaller caller, ClaimReplies* replies);
  // Gives back the claim with this id (ClaimIdOf; T-165, T-170). If the write of the claim was not
  // sent yet, the claim ends at once. Else placement writes the records without the claim; a
  // migration then has the status `failed`. After a conflict, the end may be written again, based
  // on the newest records, up to four times in all. Works without the hypervisor. When the claim of
  // an instance that was being built has ended, it counts as one failed build (T-122). An abort
  // whose answer is lost does not count, unless it is repeated and finds the claim.
  //
  // The caller gets ended = true when the claim has ended, and ended = false if the claim stays
  // because its guest needs it: the instance has left the state in which it was claimed, or the
  // instance or its guest is on the destination of the move.
  //
  // Refused, in this order: kUnsettled if the write of the claim was sent and is not answered; the
  // refusals before a write; kNoSuchClaim; kUnsettled if the instance has another write;
  // kNodeUnavailable if a record has more than this release can read, which the write would lose;
  // the refusals of a write.
  void Abort(const std::string& claim_id, ClaimCaller caller, ClaimReplies* replies);
  // Ends a move on one of its sides, and with it the move: placement writes both records, and
  // settles what their consumers hold (T-173, T-174). The caller gets ended = false if the records
  // have no such move with the node on this side, or it is over. For conflicts, see Abort.
  //
  // Refused, in this order: the refusals before a write; kUnsettled if the instance has another
  // write; kWrongState if ConfirmMove or RevertMove fails; kNodeUnavailable as by Abort; the
  // refusals of a write.
  void DropMove(const MoveDrop& request, ClaimCaller caller, ClaimReplies* replies);
  // Waits until the account has the record of the instance as the caller knows it, or a newer one
  // (T-116), or until the instance does not count on the node: see RecordWaiters::Answer. Changes
  // nothing: placement pushes the record.
  //
  // Refused, in this order: the refusals before a write; kOverloaded if RecordWrites::kMax callers
  // wait for records. Later, kPlacementAway if the session ends, or kTooLate if the caller goes.
  void UpdateUsage(const Instance& known, ClaimCaller caller, ClaimReplies* replies);

  // If placement takes writes of the node now, drops the unsent ones whose callers have all gone
  // (T-385), and returns the write to send now, if there is one: see RecordWrites::Next.
  std::optional<RecordWrites::Outgoing> NextWrite(MonotonicTime now, ClaimReplies* replies);
  // To be called when placement has answered the write `id`, after the records of the answer were
  // applied to the account; or when the write is malformed and is not sent. Returns false, and
  // changes nothing, if no write with this id waits for an answer.
  //
  // A withdrawal (RecordWrites) that is answered with another error than Aborted, NotFound,
  // InvalidArgument or PermissionDenied is sent again after a pause. If the end of a claim is
  // answered with NotFound, the claim has ended. So it has if the answer denies a record, and the
  // account has no longer the record of the instance, or of the migration that the end writes.
  bool AnswerWrite(int64_t id, const WriteAnswer& answer, MonotonicTime now, ClaimReplies* replies);
  // To be called when records have come. `first`: they are the first ones. Answers the callers of
  // UpdateUsage whose wait is over.
  void RecordsCame(bool first, ClaimReplies* replies);
  // To be called when the session has ended. Refuses all callers that wait.
  void Disconnect(ClaimReplies* replies);
  // Adds writes of the records that FindRepairs and FindInterrupted correct. Leaves out an instance
  // that has a write or an open claim, and an interrupted one whose generation is not that in
  // first_generations_. Leaves out all while a call would get one of the refusals before a write.
  // Returns texts for the log: what will be written; which earlier repairs were refused (T-131);
  // and, once for each interrupted instance that is not changed, what people have to do with it.
  //
  // REQUIRES: there are facts and an account.
  std::vector<std::string> RepairRecords(absl::Time booted_at);

 private:
  // The refusals before a write.
  absl::Status CheckWrites(const ClaimCaller& caller) const;
  // The same for Claim, which is also refused if the node was not audited or does not answer.
  absl::Status CheckClaims(const ClaimCaller& caller) const;
  // Answers a claim of an instance that has a write, or lets the claim's caller wait for the write.
  void Join(const std::string& request_id, const std::string& body, ClaimCaller caller,
            RecordWrites::Write* write, ClaimReplies* replies) const;
  // Lets one more caller wait for the write, and refuses those that have gone. Without a session,
  // refuses the caller. Both with kOutcomeUnknown.
  void Await(ClaimCaller caller, RecordWrites::Write* write, ClaimReplies* replies) const;
  // Ends a claim, or a side of a move, that the records have. If the same end is being written, the
  // caller waits for that write.
  void End(const Uuid& instance_uuid, const std::string& claim_id, ClaimEnd end, ClaimCaller caller,
           ClaimReplies* replies);
  void AnswerClaim(RecordWrites::Write* write, const WriteAnswer& answer, MonotonicTime now,
                   ClaimReplies* replies);
  void AnswerEnd(RecordWrites::Write* write, const WriteAnswer& answer, ClaimReplies* replies);
  // Whether the answer says that there is no record that the end of the claim could write.
  bool IsGone(const RecordWrites::Write& write, const WriteAnswer& answer) const;
  // Grant: the claim is in placement's records; answers the callers with the claim. Undo: gives
  // back what the write has claimed, if it makes a claim, and refuses the callers with `status`.
  void Grant(RecordWrites::Write write, ClaimReplies* replies);
  void Undo(RecordWrites::Write write, const absl::Status& status, ClaimReplies* replies);
  // Counts a failed build if `aborted` is the claim of an instance that was being built (T-122). The
  // claim of an instance that was unshelved or moved does not count.
  void CountIfBuild(const OpenClaim& aborted);

  NodeState* const state_;
  const Outbox* const outbox_;
  RecordWrites writes_;
  ClaimAnswers answers_;
  RecordWaiters waiters_;
  std::vector<std::string> failed_repairs_;  // texts for the log, since the last RepairRecords
  // The generations of the instances in the first records, without those about which RepairRecords
  // has told people what to do. Only a record that still has its generation is taken as interrupted
  // (T-33).
  std::map<Uuid, int64_t> first_generations_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_NODE_CLAIMS_H_
