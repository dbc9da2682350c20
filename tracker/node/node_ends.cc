// The functions of NodeClaims that end claims, that repair records, and that wait for records.
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
#include "tracker/node/node_claims.h"

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

// The records of the claim with this id, which the instance has on this node. Nothing: there is no
// such claim.
std::optional<OpenClaim> FindRecorded(const NodeAccount& account, const Uuid& instance_uuid,
                                      const std::string& claim_id, ClaimEnd end) {
  const std::optional<Instance> instance = account.FindInstance(instance_uuid);
  if (!instance) return std::nullopt;
  OpenClaim claim;
  claim.instance = *instance;
  const Migration* const migration = account.FindMigration(UuidOrNil(claim_id));
  if (migration == nullptr) {
    const bool known = instance->claimed_generation != 0 && ClaimIdOf(claim) == claim_id &&
                       account.HasClaim(claim);
    return known ? std::make_optional(claim) : std::nullopt;
  }
  const bool over = StatusOf(migration->status).progress == Progress::kOver;
  if (over || migration->instance_uuid != instance_uuid) return std::nullopt;
  if (!IsOnSide(account.self(), *migration, end)) return std::nullopt;
  claim.migration = *migration;
  if (end == ClaimEnd::kAbort && !account.HasClaim(claim)) return std::nullopt;
  return claim;
}

// The write that ends the claim. Nothing: the claim must stay.
absl::StatusOr<std::optional<Write>> EndOf(const OpenClaim& claim, ClaimEnd end,
                                           NodeAccount* account) {
  std::optional<Ending> ending;
  if (end == ClaimEnd::kAbort) {
    if (!claim.migration && !IsClaimOnly(claim.instance)) return std::optional<Write>();
    BERTH_RETURN_IF_ERROR(CheckWhole(claim));  // Abort may close the claim
    ending = Abort(claim, account);
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

}  // namespace

void NodeClaims::Abort(const std::string& claim_id, ClaimCaller caller, ClaimReplies* replies) {
  Write* const write = writes_.FindClaim(claim_id);
  if (write == nullptr || write->end.has_value()) {
    const Migration* const migration =
        state_->account ? state_->account->FindMigration(UuidOrNil(claim_id)) : nullptr;
    const Uuid instance = migration != nullptr ? migration->instance_uuid
                                               : UuidOrNil(claim_id.substr(0, claim_id.find('/')));
    return End(instance, claim_id, ClaimEnd::kAbort, std::move(caller), replies);
  }
  if (write->state != RecordWrites::State::kUnsent) {
    return replies->Add(std::move(caller),
                        RefuseClaim(Refused::kUnsettled, "the claim waits for placement's answer"));
  }
  const OpenClaim claim = write->claim;
  Undo(writes_.Take(claim.instance.uuid),
       RefuseClaim(Refused::kRecordConflict, "the claim was aborted"), replies);
  CountIfBuild(claim);
  replies->Add(std::move(caller), ClaimResult{claim, true});
}

void NodeClaims::CountIfBuild(const OpenClaim& aborted) {
  if (aborted.migration.has_value() || aborted.instance.vm_state != "building") return;
  state_->account->CountFailedBuild();
  if (state_->facts != nullptr) state_->changes_wait = true;
}

void NodeClaims::DropMove(const MoveDrop& request, ClaimCaller caller, ClaimReplies* replies) {
  End(request.instance_uuid, request.migration_uuid.ToString(), request.side, std::move(caller),
      replies);
}

void NodeClaims::End(const Uuid& instance_uuid, const std::string& claim_id, ClaimEnd end,
                     ClaimCaller caller, ClaimReplies* replies) {
  Write* const write = writes_.FindInstance(instance_uuid);
  if (write != nullptr && write->end == end && ClaimIdOf(write->claim) == claim_id) {
    return Await(std::move(caller), write, replies);
  }
  const absl::Status writes = CheckWrites(caller);
  if (!writes.ok()) return replies->Add(std::move(caller), writes);
  const std::optional<OpenClaim> claim =
      FindRecorded(*state_->account, instance_uuid, claim_id, end);
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
  absl::StatusOr<std::optional<Write>> fresh = EndOf(*claim, end, &*state_->account);
  if (!fresh.ok()) return replies->Add(std::move(caller), fresh.status());
  if (!*fresh) return replies->Add(std::move(caller), ClaimResult{*claim});
  (*fresh)->callers.push_back(std::move(caller));
  writes_.Add(**std::move(fresh));
}

// Without a record there is nothing to write: the claim is gone (T-166). Placement does not tell a
// tracker with a certificate whether there is a record that does not concern its host, and denies
// both. If placement denies the node, the account has lost the records as well, because the node is
// another host's; but the claim may still be in the records.
bool NodeClaims::IsGone(const Write& write, const WriteAnswer& answer) const {
  if (absl::IsNotFound(answer.status)) return true;
  if (!absl::IsPermissionDenied(answer.status) || !answer.denies_record) return false;
  const NodeAccount& account = *state_->account;
  return !account.FindInstance(write.claim.instance.uuid) ||
         (write.migration && account.FindMigration(write.migration->uuid) == nullptr);
}

void NodeClaims::AnswerEnd(Write* write, const WriteAnswer& answer, ClaimReplies* replies) {
  const Uuid uuid = write->claim.instance.uuid;
  const std::string claim_id = ClaimIdOf(write->claim);
  if (answer.status.ok() || IsGone(*write, answer)) {
    if (GivesBack(*write)) answers_.Forget(claim_id);
    const OpenClaim claim = write->claim;
    if (write->end == ClaimEnd::kAbort) CountIfBuild(claim);
    return replies->Add(writes_.Take(uuid).callers, ClaimResult{claim, true});
  }
  if (write->end == ClaimEnd::kRepair) {
    failed_repairs_.push_back(absl::StrCat("placement has not written the record of instance ",
                                           uuid.ToString(), ": ", answer.status.message()));
  } else if (absl::IsAborted(answer.status) && ++write->tries < kTriesMax) {
    const std::optional<OpenClaim> claim =
        FindRecorded(*state_->account, uuid, claim_id, *write->end);
    absl::StatusOr<std::optional<Write>> again;
    if (claim) again = EndOf(*claim, *write->end, &*state_->account);
    if (again.ok() && *again) {
      write->claim = *claim;
      write->instance = std::move((*again)->instance);
      write->migration = std::move((*again)->migration);
      write->state = RecordWrites::State::kUnsent;
      return;
    }
  }
  replies->Add(writes_.Take(uuid).callers, RefusalBy(answer, true));
}

std::vector<std::string> NodeClaims::RepairRecords(absl::Time booted_at) {
  const ClaimCaller caller = {[](const absl::StatusOr<ClaimResult>&) {}, [] { return false; }};
  std::vector<std::string> texts = std::exchange(failed_repairs_, {});
  const std::vector<Guest>& guests = state_->facts->guests;
  std::set<Uuid> uuids;
  for (const Guest& guest : guests) uuids.insert(guest.uuid);
  std::vector<Repair> repairs = FindRepairs(*state_->account, uuids);
  for (Interruption& found : FindInterrupted(*state_->account, guests, booted_at)) {
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
    if (!CheckWrites(caller).ok() || writes_.FindInstance(uuid) != nullptr ||
        state_->account->OpenClaimOf(uuid) != nullptr) {
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

void NodeClaims::UpdateUsage(const Instance& known, ClaimCaller caller, ClaimReplies* replies) {
  const absl::Status writes = CheckWrites(caller);
  if (!writes.ok()) return replies->Add(std::move(caller), writes);
  if (waiters_.size() >= RecordWrites::kMax) {
    return replies->Add(std::move(caller),
                        RefuseClaim(Refused::kOverloaded, "too many callers wait for records"));
  }
  waiters_.Add(known, std::move(caller));
  waiters_.Answer(*state_->account, replies);
}

void NodeClaims::RecordsCame(bool first, ClaimReplies* replies) {
  if (!state_->account) return;
  if (first) {
    for (const auto& [uuid, instance] : state_->account->instances()) {
      first_generations_[uuid] = instance.generation;
    }
  }
  waiters_.Answer(*state_->account, replies);
}

}  // namespace berth::tracker
