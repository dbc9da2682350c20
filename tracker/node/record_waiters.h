// RecordWaiters: the callers of NodeClaims::UpdateUsage. Each waits for the account to have the
// record of an instance as the caller knows it, or a newer one (T-116).
//
// Not thread-safe; the node's lock protects it.
#ifndef BERTH_TRACKER_NODE_RECORD_WAITERS_H_
#define BERTH_TRACKER_NODE_RECORD_WAITERS_H_

#include <cstddef>
#include <list>
#include <utility>

#include "absl/status/status.h"
#include "tracker/account/account.h"
#include "tracker/account/records.h"
#include "tracker/node/claim_replies.h"

namespace berth::tracker {

class RecordWaiters {
 public:
  size_t size() const { return waiters_.size(); }
  // `known`: the record as the caller knows it. Only its uuid, generation and updated_at count.
  void Add(const Instance& known, ClaimCaller caller);
  // Answers callers. For each one, the first line that fits decides:
  //   the instance does not count on the node            tracked = false
  //   the account has the record in this generation;     tracked = true
  //     or it, or else the instance's open claim, has
  //     this updated_at or a later one
  //   the caller has gone                                refused with kTooLate
  //   else                                               the caller waits on
  void Answer(const NodeAccount& account, ClaimReplies* replies);
  // Refuses all callers with `status`.
  void AnswerAll(const absl::Status& status, ClaimReplies* replies);

 private:
  std::list<std::pair<Instance, ClaimCaller>> waiters_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_RECORD_WAITERS_H_
