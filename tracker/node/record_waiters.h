// RecordWaiters: callers that wait until the account has a record of an instance as they know it, or
// a newer one (T-116).
//
// Changes nothing. Not thread-safe; the node's lock protects it.
//
// Invariant: who waits is not answered before the account decides, the caller goes, or the session
// ends.
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
  // `known`: the record as the caller knows it.
  void Add(const Instance& known, ClaimCaller caller);
  // Answers the callers for whom `account` decides, and those who have gone: kTooLate. A caller gets
  // tracked = false if the instance does not count on the node.
  void Answer(const NodeAccount& account, ClaimReplies* replies);
  // Answers all callers with `status`.
  void AnswerAll(const absl::Status& status, ClaimReplies* replies);

 private:
  std::list<std::pair<Instance, ClaimCaller>> waiters_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_RECORD_WAITERS_H_
