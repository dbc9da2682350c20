// Publisher: holds the state that readers see, replaces it by the state of the next revision, and
// answers readers who wait for a revision.
//
// Thread-safe. Two threads publish: the writer and the follower.
//
// Invariants:
//   1. The published state and the feed change together. Publish moves both on by one revision;
//      Replace makes both forget all older revisions. The published revision never falls.
//   2. If both threads publish one revision, both bring the same batch, and the second call of
//      Publish does nothing.
//   3. While the writer commits a batch, only the writer applies the batch's log row, because the
//      writer has the state after the batch at hand:
//        - The writer calls BeginCommit before it sends the batch to the database. So nobody can
//          read the batch's row before committing() names the batch.
//        - The writer calls EndCommit after it has published the batch, or after the commit failed
//          or was lost.
//        - A thread that applies log rows calls committing() first and Newest() second
//          (catch_up.cc). If committing() does not name the batch of the row, then either the batch
//          is published already, or the writer does not know the outcome and the row may be
//          applied.
//      So a batch in commit is published only by the thread that called BeginCommit.
#ifndef BERTH_PLACEMENT_PUBLISH_PUBLISHER_H_
#define BERTH_PLACEMENT_PUBLISH_PUBLISHER_H_

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
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"
#include "placement/log/codec.h"
#include "placement/log/feed.h"
#include "placement/publish/answerer.h"
#include "placement/publish/options.h"
#include "placement/state/state.h"

namespace berth::placement {

class Publisher {
 public:
  // Waiting readers are called through `answerer`, which must outlive the publisher.
  Publisher(const LedgerOptions& options, StatePtr first, Answerer* answerer);

  // Ledger documents the next four methods.
  StatePtr Newest() const;
  absl::StatusOr<StatePtr> Fresh() const;
  StatePtr Recent(Revision revision) const;
  void AwaitRevision(Revision minimum, BootTime deadline,
                     absl::AnyInvocable<void(absl::StatusOr<StatePtr>)> ready);
  // Refuses the waiting readers whose deadline is `now` or earlier: the revision was not reached.
  void Expire(BootTime now);
  // Frees the states that are no longer recent. Another thread than the writer calls this, because
  // it takes long: a batch replaces thousands of blocks of memory.
  void FreeOld();
  // Refuses all readers who wait now or would have to wait later: placement is stopping.
  void Close();

  // Publishes `next`, which is `base` changed by `commands`. Returns false, and does nothing, if
  // the published state has reached the revision of `next` already. REQUIRES: no other batch has
  // that revision.
  bool Publish(const State& base, StatePtr next, const std::vector<LogCommand>& commands);
  // Publishes `state`, which was loaded from the tables. Forgets all other states and the content
  // of the feed. Does nothing if the published state is newer than `state`.
  void Replace(StatePtr state);

  // To be called before the writer commits `batch`. REQUIRES: no other commit is in progress.
  void BeginCommit(BatchId batch);
  // To be called when the commit of `batch` has ended: the batch is published, or its commit failed
  // or was lost.
  void EndCommit(BatchId batch);
  // The batch that is being committed, between BeginCommit and EndCommit; all zero if there is
  // none.
  BatchId committing() const;

  // To be called when the published state contains everything that was committed before `began`, a
  // time of the boot clock.
  void SetFresh(absl::Duration began);
  // How much time has passed since the newest `began` that SetFresh was called with.
  absl::Duration staleness() const;
  BootTime boot_now() const { return boot_clock_(); }

  Feed& feed() { return feed_; }

 private:
  struct Waiter {
    Revision minimum;
    BootTime deadline;
    absl::AnyInvocable<void(absl::StatusOr<StatePtr>)> ready;
  };

  // Calls `answer_for` for each waiting reader. If the call returns an answer, posts this answer
  // to the reader and forgets the reader.
  void TellWaiters(
      absl::FunctionRef<std::optional<absl::StatusOr<StatePtr>>(const Waiter&)> answer_for);
  // Answers the readers who wait for the revision of `state` or for an older one.
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

#endif  // BERTH_PLACEMENT_PUBLISH_PUBLISHER_H_
