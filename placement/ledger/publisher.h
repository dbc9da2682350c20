// Publisher: the published state, the one place where it moves on, and those who wait for it.
//
// Thread-safe. State and feed move together, one revision at a time, whoever brings it; who comes
// second with a revision drops his copy.
#ifndef BERTH_PLACEMENT_LEDGER_PUBLISHER_H_
#define BERTH_PLACEMENT_LEDGER_PUBLISHER_H_

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/answerer.h"
#include "placement/ledger/options.h"
#include "placement/log/codec.h"
#include "placement/log/feed.h"
#include "placement/state/state.h"

namespace berth::placement {

class Publisher {
 public:
  // Calls to waiters go through `answerer`, which must live as long.
  Publisher(const LedgerOptions& options, StatePtr first, Answerer* answerer);

  StatePtr Newest() const;
  absl::StatusOr<StatePtr> Fresh() const;
  StatePtr Recent(Revision revision) const;
  void AwaitRevision(Revision minimum, absl::Time deadline,
                     absl::AnyInvocable<void(absl::StatusOr<StatePtr>)> ready);
  // Tells those whose deadline is before `now`.
  void Expire(absl::Time now);
  // Frees the states that were let go since: a batch leaves thousands of blocks behind, and the
  // writer has better things to do.
  void FreeOld();
  // Tells all who wait that nothing comes any more.
  void Close();

  // Publishes `next`, the state after `base` and `commands`. Returns false where that revision is
  // published already. REQUIRES: no other batch has that revision.
  bool Publish(const State& base, StatePtr next, const std::vector<LogCommand>& commands);
  // Replaces the state by another one, of the same revision or a later one, and forgets all others.
  // Does nothing where the published state is later.
  void Replace(StatePtr state);

  // The batch that the writer is committing: the follower leaves its row to the writer, who has the
  // state at hand. All zero: none.
  void SetCommitting(BatchId batch);
  BatchId committing() const;

  // All that was committed before `began`, on the boot clock, has been applied.
  void SetFresh(absl::Duration began);
  absl::Duration staleness() const;
  absl::Duration BootTime() const { return boot_clock_(); }

  Feed& feed() { return feed_; }

 private:
  struct Waiter {
    Revision minimum;
    absl::Time deadline;
    absl::AnyInvocable<void(absl::StatusOr<StatePtr>)> ready;
  };

  // Answers and forgets the waiters for whom there is an answer.
  void TellWaiters(
      absl::FunctionRef<std::optional<absl::StatusOr<StatePtr>>(const Waiter&)> answer_for);
  void TellOf(const StatePtr& state);
  // Also forgets all older ones where told so.
  void SetNewest(StatePtr state, bool forget_older) ABSL_EXCLUSIVE_LOCKS_REQUIRED(publishing_);

  const absl::Duration staleness_max_;
  const int awaits_max_;
  const std::function<absl::Duration()> boot_clock_;
  Answerer* const answerer_;
  Feed feed_;
  std::atomic<int64_t> fresh_at_ns_{0};

  // Held by whoever moves the state on; readers take only the other one, for an instant.
  Mutex publishing_;
  mutable Mutex mutex_;
  std::deque<StatePtr> recent_ ABSL_GUARDED_BY(mutex_);  // the newest last; never empty
  std::deque<StatePtr> old_ ABSL_GUARDED_BY(mutex_);     // not recent any more, not yet freed
  std::vector<Waiter> waiters_ ABSL_GUARDED_BY(mutex_);
  BatchId committing_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_PUBLISHER_H_
