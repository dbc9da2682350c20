// The functions of NodeClaims that make claims, and let placement write them.
#include "tracker/node/node_claims.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/claims/refusal.h"
#include "tracker/ground/boot_clock.h"

namespace berth::tracker {
namespace {

using Refused = ClaimRefusalKind;
using Write = RecordWrites::Write;

constexpr std::chrono::seconds kTryAgain{2};

// The claim of a move writes back the record of a guest that may run elsewhere, and would lose what
// it cannot read. And the tracker does not know which CPUs and devices a record takes that it cannot
// read.
absl::Status CheckReadable(const NodeAccount& account, const OpenClaim& claim) {
  if (const std::string missing = claim.instance.missing();
      claim.migration.has_value() && !missing.empty()) {
    return RefuseClaim(Refused::kNodeUnavailable,
                       absl::StrCat("this tracker cannot read all of the record of instance ",
                                    claim.instance.uuid.ToString(), ": ", missing));
  }
  const Assigned& chosen =
      claim.migration.has_value() ? claim.instance.context->new_assigned : claim.instance.assigned;
  if (chosen == Assigned()) return absl::OkStatus();
  for (const AccountFault& fault : account.unreadable()) {
    return RefuseClaim(Refused::kNodeUnavailable,
                       absl::StrCat("the record of instance ", fault.instance_uuid.ToString(),
                                    " cannot be read: ", fault.text));
  }
  return absl::OkStatus();
}

// What the claim takes must still count when the records say what the claim says.
absl::Status CheckState(const NodeAccount& account, const OpenClaim& claim) {
  if (account.CountsWhenRecorded(claim)) return absl::OkStatus();
  return RefuseClaim(Refused::kWrongState,
                     absl::StrCat("instance ", claim.instance.uuid.ToString(), " with vm_state `",
                                  claim.instance.vm_state, "` and task_state `",
                                  claim.instance.task_state, "` is neither built nor moved here"));
}

}  // namespace

absl::Status NodeClaims::CheckClaims(const ClaimCaller& caller) const {
  const bool ready =
      state_->audit != nullptr && state_->last.result != PassOutcome::Result::kNotReady;
  if (ready || caller.gone()) return CheckWrites(caller);
  return RefuseClaim(Refused::kNodeUnavailable,
                     "the hypervisor does not answer, or was not audited yet");
}

absl::Status NodeClaims::CheckWrites(const ClaimCaller& caller) const {
  if (caller.gone())
    return RefuseClaim(Refused::kTooLate, "the deadline passed before the call began");
  if (!state_->records)
    return RefuseClaim(Refused::kNodeUnavailable, "placement has sent no records yet");
  switch (outbox_->standing()) {
    case Standing::kStandby:
      return RefuseClaim(Refused::kNodeUnavailable, "the node belongs to another tracker");
    case Standing::kRefused:
      return RefuseClaim(Refused::kNodeUnavailable,
                         "the identity of the node contradicts placement's records");
    case Standing::kNone:
      return RefuseClaim(Refused::kPlacementAway, "there is no session with placement");
    default:
      break;
  }
  if (writes_.size() < RecordWrites::kMax) return absl::OkStatus();
  return RefuseClaim(Refused::kOverloaded, "too many claims wait for placement");
}

// A repeat of the claim that is under way gets the answer that this claim will get.
void NodeClaims::Join(const std::string& request_id, const std::string& body, ClaimCaller caller,
                      Write* write, ClaimReplies* replies) const {
  if (write->end == ClaimEnd::kRepair) {
    return replies->Add(std::move(caller),
                        RefuseClaim(Refused::kUnsettled,
                                    "a correction of the record waits for placement's answer"));
  }
  if (write->end.has_value() || request_id.empty() || write->claim.id != request_id) {
    return replies->Add(std::move(caller), RefuseClaim(Refused::kAlreadyClaimed,
                                                       "a claim of the instance begins or ends"));
  }
  if (write->claim.body != body) return replies->Add(std::move(caller), RefuseReusedId(request_id));
  Await(std::move(caller), write, replies);
}

// A write outlives its session and its callers. So callers that have gone make way for repeats, and
// without a session, whose end answers all callers, nobody waits.
void NodeClaims::Await(ClaimCaller caller, Write* write, ClaimReplies* replies) const {
  const absl::Status unknown =
      RefuseClaim(Refused::kOutcomeUnknown, "placement has not answered yet");
  if (outbox_->standing() == Standing::kNone) return replies->Add(std::move(caller), unknown);
  const auto gone = std::stable_partition(write->callers.begin(), write->callers.end(),
                                          [](const ClaimCaller& one) { return !one.gone(); });
  for (auto one = gone; one != write->callers.end(); ++one) {
    replies->Add(std::move(*one), unknown);
  }
  write->callers.erase(gone, write->callers.end());
  write->callers.push_back(std::move(caller));
}

template <typename Request>
void NodeClaims::Claim(const Request& request, ClaimCaller caller, ClaimReplies* replies) {
  const Uuid& uuid = request.instance.uuid;
  const absl::StatusOr<const OpenClaim*> known =
      answers_.Find(request.id, uuid, request.body, BootClock::now());
  if (!known.ok()) return replies->Add(std::move(caller), known.status());
  if (*known != nullptr) return replies->Add(std::move(caller), ClaimResult{**known});
  if (Write* const write = writes_.FindInstance(uuid); write != nullptr) {
    return Join(request.id, request.body, std::move(caller), write, replies);
  }
  constexpr auto kRule = [] {
    if constexpr (std::is_same_v<Request, MoveClaim>) {
      return ClaimMove;
    } else {
      return ClaimInstance;
    }
  }();
  const absl::Status takes_claims = CheckClaims(caller);
  const absl::StatusOr<OpenClaim> claim =
      takes_claims.ok() ? kRule(state_->claim_settings, request, &*state_->account) : takes_claims;
  if (!claim.ok()) return replies->Add(std::move(caller), claim.status());
  for (const absl::Status& status :
       {CheckReadable(*state_->account, *claim), CheckState(*state_->account, *claim)}) {
    if (status.ok()) continue;
    state_->account->Close(uuid, claim->id);
    return replies->Add(std::move(caller), status);
  }
  Write fresh;
  fresh.claim = *claim;
  fresh.instance = claim->instance;
  fresh.migration = claim->migration;
  fresh.callers.push_back(std::move(caller));
  writes_.Add(std::move(fresh));
}

template void NodeClaims::Claim(const InstanceClaim&, ClaimCaller, ClaimReplies*);
template void NodeClaims::Claim(const MoveClaim&, ClaimCaller, ClaimReplies*);

std::optional<RecordWrites::Outgoing> NodeClaims::NextWrite(MonotonicTime now,
                                                            ClaimReplies* replies) {
  const Standing standing = outbox_->standing();
  if (standing == Standing::kNone || standing == Standing::kStandby ||
      standing == Standing::kRefused) {
    return std::nullopt;
  }
  waiters_.Answer(*state_->account, replies);
  for (Write& write : writes_.TakeAbandoned()) {
    Undo(std::move(write), RefuseClaim(Refused::kTooLate, "the deadline passed before the write"),
         replies);
  }
  return writes_.Next(now);
}

bool NodeClaims::AnswerWrite(int64_t id, const WriteAnswer& answer, MonotonicTime now,
                             ClaimReplies* replies) {
  Write* const write = writes_.FindSent(id);
  if (write == nullptr) return false;
  if (write->end.has_value()) {
    AnswerEnd(write, answer, replies);
  } else {
    AnswerClaim(write, answer, now, replies);
  }
  return true;
}

void NodeClaims::AnswerClaim(Write* write, const WriteAnswer& answer, MonotonicTime now,
                             ClaimReplies* replies) {
  const absl::Status& status = answer.status;
  const bool settled = status.ok() || absl::IsAborted(status) || absl::IsNotFound(status) ||
                       absl::IsInvalidArgument(status) || absl::IsPermissionDenied(status);
  if (write->withdraws && !settled) {
    write->state = RecordWrites::State::kInDoubt;
    write->not_before = now + kTryAgain;
    return;
  }
  const Uuid uuid = write->claim.instance.uuid;
  // The answer to a withdrawal is a conflict if the claim was applied. Then the record, which came
  // before the answer, is on this node.
  const bool applied = write->withdraws
                           ? absl::IsAborted(status) && state_->account->HasClaim(write->claim)
                           : status.ok();
  if (applied) return Grant(writes_.Take(uuid), replies);
  Undo(writes_.Take(uuid),
       status.ok() ? RefuseClaim(Refused::kPlacementAway, "the claim was withdrawn")
                   : RefusalBy(answer, false),
       replies);
}

void NodeClaims::Grant(Write write, ClaimReplies* replies) {
  state_->account->Close(write.claim.instance.uuid, write.claim.id);
  answers_.Keep(write.claim, BootClock::now());
  const ClaimResult result{write.claim};
  replies->Add(std::move(write.callers), result);
}

void NodeClaims::Undo(Write write, const absl::Status& status, ClaimReplies* replies) {
  if (!write.end.has_value()) state_->account->Close(write.claim.instance.uuid, write.claim.id);
  replies->Add(std::move(write.callers), status);
}

void NodeClaims::Disconnect(ClaimReplies* replies) {
  waiters_.AnswerAll(RefuseClaim(Refused::kPlacementAway, "the session with placement ended"),
                     replies);
  for (Write& write : writes_.Disconnect()) {
    const bool unsent = write.state == RecordWrites::State::kUnsent;
    // Placement may have written the end of the claim.
    if (!unsent && GivesBack(write)) answers_.Forget(ClaimIdOf(write.claim));
    Undo(std::move(write),
         unsent ? RefuseClaim(Refused::kPlacementAway, "the session with placement ended")
                : RefuseClaim(Refused::kOutcomeUnknown, "the answer of placement was lost"),
         replies);
  }
  replies->Add(writes_.TakeCallers(),
               RefuseClaim(Refused::kOutcomeUnknown, "the answer of placement was lost"));
}

}  // namespace berth::tracker
