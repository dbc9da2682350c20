// ClaimCaller: how a caller of NodeClaims is answered. ClaimReplies: answers that are decided under
// the node's lock and given without it.
//
// Not thread-safe.
#ifndef BERTH_TRACKER_NODE_CLAIM_REPLIES_H_
#define BERTH_TRACKER_NODE_CLAIM_REPLIES_H_

#include <functional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tracker/account/open_claim.h"

namespace berth::tracker {

// The result of a call of NodeClaims that is not refused. Each value is for the calls that its
// comment names.
struct ClaimResult {
  OpenClaim claim;       // Claim: what was claimed
  bool ended = false;    // Abort, DropMove: the claim, or the node's side of the move, has ended
  bool tracked = false;  // UpdateUsage: the instance counts on the node
};

struct ClaimCaller {
  // Called exactly once, on any thread, without any lock of the node.
  std::function<void(const absl::StatusOr<ClaimResult>&)> done;
  // Whether the caller has gone, or its deadline has passed. May be called at any time, also after
  // `done`, and with the node's lock held.
  std::function<bool()> gone;
};

// Answers the callers, in the order of Add, when it is destroyed. To be declared before the node's
// lock is taken: then its destructor runs after the lock was released.
class ClaimReplies {
 public:
  ClaimReplies() = default;
  ClaimReplies(const ClaimReplies&) = delete;
  ClaimReplies& operator=(const ClaimReplies&) = delete;
  ~ClaimReplies() {
    for (const auto& [caller, result] : replies_) caller.done(result);
  }
  void Add(ClaimCaller caller, absl::StatusOr<ClaimResult> result) {
    replies_.emplace_back(std::move(caller), std::move(result));
  }
  void Add(std::vector<ClaimCaller> callers, const absl::StatusOr<ClaimResult>& result) {
    for (ClaimCaller& caller : callers) Add(std::move(caller), result);
  }

 private:
  std::vector<std::pair<ClaimCaller, absl::StatusOr<ClaimResult>>> replies_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_CLAIM_REPLIES_H_
