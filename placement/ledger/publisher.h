// Publisher: holds the state that readers see, replaces it by the state of the next revision, and
// answers readers who wait for a revision.
//
// Thread-safe. The writer and the follower both publish.
//
// Invariants:
//   1. State and feed move together, one revision at a time (Publish), or forget all older
//      revisions together (Replace). The published revision never falls.
//   2. If both threads bring the same revision, it is the same batch. The second one is dropped.
//   3. The log row of the batch that the writer commits is left to the writer, who has its state at
//      hand:
//        - The writer calls BeginCommit before it sends the batch. So nobody can read the row of
//          this batch before committing() names it.
//        - The writer calls EndCommit after it has published the batch, or after the commit failed
//          or was lost.
//        - Whoever applies log rows reads committing() first and Newest() second (catch_up.cc). If
//          committing() does not name the batch of the row, then either the batch is published
//          already, or the writer does not know its outcome and the row may be applied.
//      So only the thread that called BeginCommit publishes that batch.
#ifndef BERTH_PLACEMENT_LEDGER_PUBLISHER_H_
#define BERTH_PLACEMENT_LEDGER_PUBLISHER_H_

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <thread>
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

  // These four: see Ledger.
  StatePtr Newest() const;
  absl::StatusOr<StatePtr> Fresh() const;
  StatePtr Recent(Revision revision) const;
  void AwaitRevision(Revision minimum, absl::Time deadline,
                     absl::AnyInvocable<void(absl::StatusOr<StatePtr>)> ready);
  // Answers waiting readers whose deadline is before `now`: the revision was not reached.
  void Expire(absl::Time now);
  // Frees the states that are no longer recent. Freeing a state takes long, because a batch
  // replaces thousands of blocks, so the writer leaves it to another thread.
  void FreeOld();
  // Answers all waiting readers, now and later: placement is stopping.
  void Close();

  // Publishes `next`, which is `base` changed by `commands`. Returns false, and does nothing, if
  // the published state has reached that revision already. REQUIRES: no other batch has that
  // revision.
  bool Publish(const State& base, StatePtr next, const std::vector<LogCommand>& commands);
  // Publishes `state`, which was loaded from the tables, and forgets all other states and the feed.
  // Does nothing if the published state is newer.
  void Replace(StatePtr state);

  // The writer is about to commit `batch`. REQUIRES: no other commit has begun and not ended.
  void BeginCommit(BatchId batch);
  // The commit of `batch` has ended: the batch is published, or it failed, or it was lost.
  void EndCommit(BatchId batch);
  // The batch between BeginCommit and EndCommit; all zero: none.
  BatchId committing() const;

  // The published state contains everything that was committed before `began` on the boot clock.
  void SetFresh(absl::Duration began);
  // Since the newest such `began`.
  absl::Duration staleness() const;
  absl::Duration BootTime() const { return boot_clock_(); }

  Feed& feed() { return feed_; }

 private:
  struct Waiter {
    Revision minimum;
    absl::Time deadline;
    absl::AnyInvocable<void(absl::StatusOr<StatePtr>)> ready;
  };

  // Answers and forgets each waiter for whom `answer_for` returns an answer.
  void TellWaiters(
      absl::FunctionRef<std::optional<absl::StatusOr<StatePtr>>(const Waiter&)> answer_for);
  // Answers the readers who wait for `state` or an older one.
  void TellOf(const StatePtr& state);
  void SetNewest(StatePtr state, bool forget_older) ABSL_EXCLUSIVE_LOCKS_REQUIRED(publishing_);

  const absl::Duration staleness_max_;
  const int awaits_max_;
  const std::function<absl::Duration()> boot_clock_;
  Answerer* const answerer_;
  Feed feed_;
  std::atomic<int64_t> fresh_at_ns_{0};

  Mutex publishing_;  // held while a state is published; readers take only mutex_, for an instant
  mutable Mutex mutex_;
  std::deque<StatePtr> recent_ ABSL_GUARDED_BY(mutex_);  // the newest last; never empty
  std::deque<StatePtr> old_ ABSL_GUARDED_BY(mutex_);     // no longer recent and not yet freed
  std::vector<Waiter> waiters_ ABSL_GUARDED_BY(mutex_);
  BatchId committing_ ABSL_GUARDED_BY(mutex_);
  std::thread::id committer_ ABSL_GUARDED_BY(mutex_);  // the thread that called BeginCommit last
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_PUBLISHER_H_
