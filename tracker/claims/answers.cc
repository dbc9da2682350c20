#include "tracker/claims/answers.h"

#include "tracker/claims/refusal.h"

namespace berth::tracker {

void ClaimAnswers::Keep(const OpenClaim& claim, MonotonicTime now) {
  DropOld(now);
  if (claim.id.empty() || !claims_.emplace(claim.id, claim).second) return;
  order_.emplace_back(now, claim.id);
  if (order_.size() > kMax) {
    claims_.erase(order_.front().second);
    order_.pop_front();
  }
}

absl::StatusOr<const OpenClaim*> ClaimAnswers::Find(const std::string& id,
                                                    const Uuid& instance_uuid,
                                                    const std::string& body, MonotonicTime now) {
  DropOld(now);
  const auto found = claims_.find(id);
  if (found == claims_.end()) return nullptr;
  const OpenClaim& claim = found->second;
  if (claim.instance.uuid != instance_uuid || claim.body != body) return RefuseReusedId(id);
  return &claim;
}

void ClaimAnswers::Forget(const std::string& claim_id) {
  std::erase_if(order_, [&](const auto& kept) {
    const auto found = claims_.find(kept.second);
    if (ClaimIdOf(found->second) != claim_id) return false;
    claims_.erase(found);
    return true;
  });
}

void ClaimAnswers::DropOld(MonotonicTime now) {
  while (!order_.empty() && now - order_.front().first >= kKept) {
    claims_.erase(order_.front().second);
    order_.pop_front();
  }
}

}  // namespace berth::tracker
