// The methods of Node that end claims, that repair records, and that wait for records.
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/account/migration_status.h"
#include "tracker/claims/ending.h"
#include "tracker/claims/refusal.h"
#include "tracker/claims/repair.h"
#include "tracker/ground/check.h"
#include "tracker/ground/status_macros.h"
#include "tracker/ground/uuid.h"
#include "tracker/node/node.h"

namespace berth::tracker {
namespace {

using Refused = ClaimRefusalKind;
using Write = RecordWrites::Write;

constexpr int kTriesMax = 4;  // of the end of a claim whose records change all the time

// Whether an instance that was claimed to be built has not been started yet.
bool IsClaimOnly(const Instance& instance) {
  return instance.vm_state == "building" || instance.vm_state == "shelved_offloaded";
}

// The records without the claim. Nothing: the guest has arrived, and needs what was claimed.
std::optional<Ending> Abort(const OpenClaim& claim, NodeAccount* account) {
  const Migration* const migration = claim.migration.has_value() ? &*claim.migration : nullptr;
  Ending ending = tracker::AbortClaim(claim, &claim.instance, migration, "failed", account);
  if (!ending.instance.has_value()) return std::nullopt;
  return ending;
}

// Whether the node is on the side of the move that `end` gives up.
bool IsOnSide(const HostAndNode& self, const Migration& migration, ClaimEnd end) {
  return (end == ClaimEnd::kConfirm ? migration.source : migration.destination) == self;
}

// Refuses the end of a claim whose records have more than this release can read. The end would
// write them back, and so lose the rest.
absl::Status CheckWhole(const OpenClaim& claim) {
  std::string missing = claim.instance.missing();
  if (missing.empty() && claim.migration) missing = claim.migration->unreadable;
  if (missing.empty()) return absl::OkStatus();
  return RefuseClaim(
      Refused::kNodeUnavailable,
      absl::StrCat("this tracker cannot read all of the records of instance ",
                   claim.instance.uuid.ToString(), ": ", missing,
                   "; to end the claim, upgrade the tracker, or change the records in placement"));
}

// When the record of the instance, or of its open claim if there is no other, was last changed. A
// record may be large, so it is not copied. Nothing: neither is known.
std::optional<absl::Time> UpdatedAt(const NodeAccount& account, const Uuid& instance_uuid) {
  const auto recorded = account.instances().find(instance_uuid);
  if (recorded != account.instances().end()) return recorded->second.updated_at;
  const OpenClaim* const claim = account.OpenClaimOf(instance_uuid);
  return claim == nullptr ? std::nullopt : std::make_optional(claim->instance.updated_at);
}

}  // namespace

// The records of the claim with this id, which the instance has on this node. Nothing: there is no
// such claim.
std::optional<OpenClaim> Node::FindRecordedLocked(const Uuid& instance_uuid,
                                                  const std::string& claim_id, ClaimEnd end) const {
  const std::optional<Instance> instance = account_->FindInstance(instance_uuid);
  if (!instance) return std::nullopt;
  OpenClaim claim;
  claim.instance = *instance;
  const Migration* const migration = account_->FindMigration(UuidOrNil(claim_id));
  if (migration == nullptr) {
    const bool known = instance->claimed_generation != 0 && ClaimIdOf(claim) == claim_id &&
                       account_->HasClaim(claim);
    return known ? std::make_optional(claim) : std::nullopt;
  }
  const bool over = StatusOf(migration->status).progress == Progress::kOver;
  if (over || migration->instance_uuid != instance_uuid) return std::nullopt;
  if (!IsOnSide(account_->self(), *migration, end)) return std::nullopt;
  claim.migration = *migration;
  if (end == ClaimEnd::kAbort && !account_->HasClaim(claim)) return std::nullopt;
  return claim;
}

// The write that ends the claim. Nothing: the claim must stay.
absl::StatusOr<std::optional<Write>> Node::EndOfLocked(const OpenClaim& claim, ClaimEnd end) {
  std::optional<Ending> ending;
  if (end == ClaimEnd::kAbort) {
    if (!claim.migration && !IsClaimOnly(claim.instance)) return std::optional<Write>();
    BERTH_RETURN_IF_ERROR(CheckWhole(claim));  // Abort may close the claim
    ending = Abort(claim, &*account_);
    if (!ending) return std::optional<Write>();
  } else {
    absl::StatusOr<Ending> moved = end == ClaimEnd::kConfirm
                                       ? ConfirmMove(claim.instance, *claim.migration)
                                       : RevertMove(claim.instance, *claim.migration);
    if (!moved.ok())
      return RefuseClaim(Refused::kWrongState, std::string(moved.status().message()));
    ending = *std::move(moved);
    BERTH_RETURN_IF_ERROR(CheckWhole(claim));
  }
  Write write;
  write.claim = claim;
  write.end = end;
  write.instance = *ending->instance;
  write.migration = ending->migration;
  write.ends_move = ending->migration.has_value();
  return std::make_optional(std::move(write));
}

void Node::AbortClaim(const std::string& claim_id, ClaimCaller caller) {
  Replies replies;
  const FairLock lock(&mutex_);
  Write* const write = writes_.FindClaim(claim_id);
  if (write == nullptr || write->end.has_value()) {
    const Migration* const migration =
        account_ ? account_->FindMigration(UuidOrNil(claim_id)) : nullptr;
    const Uuid instance = migration != nullptr ? migration->instance_uuid
                                               : UuidOrNil(claim_id.substr(0, claim_id.find('/')));
    return EndLocked(instance, claim_id, ClaimEnd::kAbort, std::move(caller), &replies);
  }
  if (write->state != RecordWrites::State::kUnsent) {
    return replies.Add(std::move(caller),
                       RefuseClaim(Refused::kUnsettled, "the claim waits for placement's answer"));
  }
  const OpenClaim claim = write->claim;
  UndoLocked(writes_.Take(claim.instance.uuid),
             RefuseClaim(Refused::kRecordConflict, "the claim was aborted"), &replies);
  replies.Add(std::move(caller), ClaimResult{claim, true});
}

void Node::DropMoveClaim(const MoveDrop& request, ClaimCaller caller) {
  Replies replies;
  const FairLock lock(&mutex_);
  EndLocked(request.instance_uuid, request.migration_uuid.ToString(), request.side,
            std::move(caller), &replies);
}

void Node::EndLocked(const Uuid& instance_uuid, const std::string& claim_id, ClaimEnd end,
                     ClaimCaller caller, Replies* replies) {
  Write* const write = writes_.FindInstance(instance_uuid);
  if (write != nullptr && write->end == end && ClaimIdOf(write->claim) == claim_id) {
    return AwaitLocked(std::move(caller), write, replies);
  }
  const absl::Status writes = CheckWritesLocked(caller);
  if (!writes.ok()) return replies->Add(std::move(caller), writes);
  const std::optional<OpenClaim> claim = FindRecordedLocked(instance_uuid, claim_id, end);
  if (!claim && end != ClaimEnd::kAbort) return replies->Add(std::move(caller), ClaimResult());
  if (!claim) {
    return replies->Add(std::move(caller),
                        RefuseClaim(Refused::kNoSuchClaim,
                                    absl::StrCat("there is no claim ", claim_id, " on this node")));
  }
  if (write != nullptr) {
    return replies->Add(std::move(caller),
                        RefuseClaim(Refused::kUnsettled,
                                    "another write of the instance waits for placement's answer"));
  }
  absl::StatusOr<std::optional<Write>> fresh = EndOfLocked(*claim, end);
  if (!fresh.ok()) return replies->Add(std::move(caller), fresh.status());
  if (!*fresh) return replies->Add(std::move(caller), ClaimResult{*claim});
  (*fresh)->callers.push_back(std::move(caller));
  writes_.Add(**std::move(fresh));
}

void Node::AnswerEndLocked(Write* write, const absl::Status& answer, Replies* replies) {
  const Uuid uuid = write->claim.instance.uuid;
  const std::string claim_id = ClaimIdOf(write->claim);
  // Without a record there is nothing to write: the claim is gone (T-166).
  if (answer.ok() || absl::IsNotFound(answer)) {
    if (GivesBack(*write)) answers_.Forget(claim_id);
    const OpenClaim claim = write->claim;
    return replies->Add(writes_.Take(uuid), ClaimResult{claim, true});
  }
  if (write->end == ClaimEnd::kRepair) {
    failed_repairs_.push_back(absl::StrCat("placement has not written the record of instance ",
                                           uuid.ToString(), ": ", answer.message()));
  } else if (absl::IsAborted(answer) && ++write->tries < kTriesMax) {
    const std::optional<OpenClaim> claim = FindRecordedLocked(uuid, claim_id, *write->end);
    absl::StatusOr<std::optional<Write>> again;
    if (claim) again = EndOfLocked(*claim, *write->end);
    if (again.ok() && *again) {
      write->claim = *claim;
      write->instance = std::move((*again)->instance);
      write->migration = std::move((*again)->migration);
      write->state = RecordWrites::State::kUnsent;
      return;
    }
  }
  replies->Add(writes_.Take(uuid), RefusalBy(answer, true));
}

std::vector<std::string> Node::RepairLocked() {
  const ClaimCaller caller = {[](const absl::StatusOr<ClaimResult>&) {}, [] { return false; }};
  std::vector<std::string> texts = std::exchange(failed_repairs_, {});
  std::set<Uuid> guests;
  for (const Guest& guest : facts_->guests) guests.insert(guest.uuid);
  std::vector<Repair> repairs = FindRepairs(*account_, guests);
  for (Interruption& found : FindInterrupted(*account_, facts_->guests, options_.booted_at)) {
    const auto first = first_generations_.find(found.instance.uuid);
    if (first == first_generations_.end() || first->second != found.instance.generation) continue;
    if (found.changes) {
      repairs.push_back({std::move(found.instance), std::nullopt, false, std::move(found.text)});
    } else {
      texts.push_back(std::move(found.text));
      first_generations_.erase(first);
    }
  }
  for (Repair& repair : repairs) {
    const Uuid& uuid = repair.instance.uuid;
    if (!CheckWritesLocked(caller).ok() || writes_.FindInstance(uuid) != nullptr ||
        account_->OpenClaimOf(uuid) != nullptr) {
      continue;
    }
    texts.push_back(std::move(repair.text));
    Write write;
    write.claim.instance = repair.instance;
    write.end = ClaimEnd::kRepair;
    write.instance = std::move(repair.instance);
    write.migration = std::move(repair.migration);
    write.ends_move = repair.ends_move;
    write.callers.push_back(caller);
    writes_.Add(std::move(write));
  }
  return texts;
}

void Node::UpdateUsage(const Instance& known, ClaimCaller caller) {
  Replies replies;
  const FairLock lock(&mutex_);
  const absl::Status writes = CheckWritesLocked(caller);
  if (!writes.ok()) return replies.Add(std::move(caller), writes);
  if (waiters_.size() >= RecordWrites::kMax) {
    return replies.Add(std::move(caller),
                       RefuseClaim(Refused::kOverloaded, "too many callers wait for records"));
  }
  waiters_.emplace_back(known, std::move(caller));
  AnswerWaitersLocked(absl::OkStatus(), &replies);
}

// The times of two records tell which one is newer; their generations do not. A record with the
// same time as the one that the caller knows comes from the same commit, and so is at least as new.
void Node::AnswerWaitersLocked(const absl::Status& status, Replies* replies) {
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    const auto& [known, caller] = *waiter;
    const bool tracked = account_->IsTracked(known.uuid);
    const std::optional<absl::Time> updated_at = UpdatedAt(*account_, known.uuid);
    const bool newer =
        updated_at && known.updated_at > absl::InfinitePast() && *updated_at >= known.updated_at;
    std::optional<absl::StatusOr<ClaimResult>> answer;
    if (!status.ok()) {
      answer = status;
    } else if (!tracked || newer || account_->HasInstance(known.uuid, known.generation)) {
      answer = ClaimResult{{}, false, tracked};
    } else if (caller.gone()) {
      answer = RefuseClaim(Refused::kTooLate, "placement has not sent the record yet");
    }
    if (!answer) {
      ++waiter;
      continue;
    }
    replies->Add(std::move(waiter->second), *std::move(answer));
    waiter = waiters_.erase(waiter);
  }
}

}  // namespace berth::tracker
