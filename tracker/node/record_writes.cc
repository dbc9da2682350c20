#include "tracker/node/record_writes.h"

#include <algorithm>
#include <utility>

#include "tracker/claims/refusal.h"
#include "tracker/ground/check.h"

namespace berth::tracker {

void RecordWrites::Add(Write write) {
  // NodeClaims looks for a write of the instance before it makes one, under the same lock.
  BERTH_CHECK(FindInstance(write.claim.instance.uuid) == nullptr);
  writes_.emplace(++last_id_, std::move(write));
}

RecordWrites::Write* RecordWrites::FindInstance(const Uuid& instance_uuid) {
  for (auto& [id, write] : writes_) {
    if (write.claim.instance.uuid == instance_uuid) return &write;
  }
  return nullptr;
}

RecordWrites::Write* RecordWrites::FindClaim(const std::string& claim_id) {
  for (auto& [id, write] : writes_) {
    if (ClaimIdOf(write.claim) == claim_id) return &write;
  }
  return nullptr;
}

RecordWrites::Write* RecordWrites::FindSent(int64_t id) {
  const auto found = writes_.find(id);
  const bool sent = found != writes_.end() && found->second.state == State::kSent;
  return sent ? &found->second : nullptr;
}

std::optional<RecordWrites::Outgoing> RecordWrites::Next(MonotonicTime now) {
  for (const State state : {State::kInDoubt, State::kUnsent}) {
    for (auto& [id, write] : writes_) {
      if (write.state != state || now < write.not_before) continue;
      write.withdraws = state == State::kInDoubt;
      write.state = State::kSent;
      return Outgoing{id,
                      write.instance,
                      write.migration,
                      write.withdraws,
                      write.ends_move,
                      write.end == ClaimEnd::kRepair};
    }
  }
  return std::nullopt;
}

template <typename Predicate>
std::vector<RecordWrites::Write> RecordWrites::TakeIf(Predicate predicate) {
  std::vector<Write> taken;
  for (auto at = writes_.begin(); at != writes_.end();) {
    if (!predicate(at->second)) {
      ++at;
      continue;
    }
    taken.push_back(std::move(at->second));
    at = writes_.erase(at);
  }
  return taken;
}

std::vector<RecordWrites::Write> RecordWrites::TakeAbandoned() {
  return TakeIf([](const Write& write) {
    return write.state == State::kUnsent &&
           std::all_of(write.callers.begin(), write.callers.end(),
                       [](const ClaimCaller& caller) { return caller.gone(); });
  });
}

RecordWrites::Write RecordWrites::Take(const Uuid& instance_uuid) {
  std::vector<Write> taken =
      TakeIf([&](const Write& write) { return write.claim.instance.uuid == instance_uuid; });
  BERTH_CHECK(taken.size() == 1);  // every caller has found the write, under the same lock
  return std::move(taken[0]);
}

std::vector<ClaimCaller> RecordWrites::TakeCallers() {
  std::vector<ClaimCaller> taken;
  for (auto& [id, write] : writes_) {
    for (ClaimCaller& caller : std::exchange(write.callers, {})) taken.push_back(std::move(caller));
  }
  return taken;
}

std::vector<RecordWrites::Write> RecordWrites::Disconnect() {
  std::vector<Write> taken = TakeIf(
      [](const Write& write) { return write.end.has_value() || write.state == State::kUnsent; });
  for (auto& [id, write] : writes_) {
    write.state = State::kInDoubt;
    write.not_before = {};
  }
  return taken;
}

bool GivesBack(const RecordWrites::Write& write) {
  return write.end == ClaimEnd::kAbort || write.end == ClaimEnd::kRevert;
}

absl::Status RefusalBy(const WriteAnswer& answer, bool ends) {
  const std::string text(answer.status.message());
  switch (answer.status.code()) {
    case absl::StatusCode::kAborted:
      return RefuseClaim(ClaimRefusalKind::kRecordConflict, text);
    case absl::StatusCode::kNotFound:
      return RefuseClaim(ClaimRefusalKind::kInstanceNotFound, text);
    case absl::StatusCode::kPermissionDenied:
      return RefuseClaim(ClaimRefusalKind::kNodeUnavailable, text);
    case absl::StatusCode::kFailedPrecondition:
      if (ends) return RefuseClaim(ClaimRefusalKind::kWrongState, text);
      return RefuseClaim(
          answer.breaks_group ? ClaimRefusalKind::kGroupPolicy : ClaimRefusalKind::kPlacementAway,
          text);
    case absl::StatusCode::kInvalidArgument:
      return answer.status;
    default:
      return RefuseClaim(ClaimRefusalKind::kPlacementAway, text);
  }
}

}  // namespace berth::tracker
