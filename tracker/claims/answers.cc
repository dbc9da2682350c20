#include "tracker/claims/answers.h"

#include <algorithm>

namespace berth::tracker {

void ClaimAnswers::Keep(const OpenClaim& claim, absl::Time now) {
  DropOld(now);
  if (claim.id.empty() || !claims_.emplace(claim.id, claim).second) return;
  order_.emplace_back(now, claim.id);
  if (order_.size() > kMax) {
    claims_.erase(order_.front().second);
    order_.pop_front();
  }
}

const OpenClaim* ClaimAnswers::Find(const std::string& id, absl::Time now) {
  DropOld(now);
  const auto found = claims_.find(id);
  return found == claims_.end() ? nullptr : &found->second;
}

void ClaimAnswers::Forget(const std::string& id) {
  if (claims_.erase(id) == 0) return;
  std::erase_if(order_, [&](const auto& kept) { return kept.second == id; });
}

void ClaimAnswers::DropOld(absl::Time now) {
  while (!order_.empty() && now - order_.front().first >= kKept) {
    claims_.erase(order_.front().second);
    order_.pop_front();
  }
}

}  // namespace berth::tracker
