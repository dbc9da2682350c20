// Publisher: holds the newest state and its feed, which readers see, and answers readers who wait
// for a revision.
//
// Thread-safe. The writer, the follower and the thread that begins an epoch publish states.
//
// Invariants:
//   1. The published revision never falls. One call of Publish or Replace runs at a time. Unless it
//      does nothing, Publish moves state and feed on by one revision; Replace moves them to the
//      revision of the loaded state, and all that was before is forgotten. State and feed change in
//      the same call, but not at the same moment.
//   2. If two threads publish the same revision, they bring the same batch, and the second call of
//      Publish does nothing.
//   3. While the writer commits a batch, only the writer applies the batch's log row, because the
//      writer has the state after the batch at hand:
//        - The writer calls BeginCommit before it sends the batch to the database. So nobody can
//          read the batch's row before committing() names the batch.
//        - The writer calls EndCommit after it has published the batch, or after the commit failed
//          or was lost.
//        - A thread that applies log rows calls committing() first and Newest() second
//          (catch_up.cc). If committing() does not name the batch of a row, then Newest() contains
//          the batch, or the row may be applied: another process wrote the batch, or the writer
//          does not know its outcome.
//      So only the thread that called BeginCommit calls Publish for a batch in commit.
#ifndef BERTH_PLACEMENT_PUBLISH_PUBLISHER_H_
#define BERTH_PLACEMENT_PUBLISH_PUBLISHER_H_

#include <atomic>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"
#include "placement/log/codec.h"
#include "placement/log/feed.h"
#include "placement/publish/answerer.h"
#include "placement/publish/options.h"
#include "placement/publish/waiting_room.h"
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
  void AwaitRevision(Revision minimum, BootTime deadline, ReadingCall call,
                     absl::AnyInvocable<void(absl::StatusOr<StatePtr>)> ready);
  // A step. Takes ten readers from the yard (WaitingRoom), into the room or with a refusal. Looks at
  // 1,000 readers, the next time at those after them, and refuses those of them whose call was
  // cancelled, with kCancelled, or whose deadline is `now` or earlier, with REVISION_NOT_REACHED. So
  // with steps of 20 ms and 20,000 readers it may be 0.4 s late.
  void Expire(BootTime now);
  // Gives up the states that are no longer recent (Recent). The writer's thread must not call this,
  // because to free a state may take long.
  void FreeOld();
  // Refuses, with kUnavailable, all readers who wait now or would have to wait later.
  void Close();

  // If the published state has reached the revision number of `next`, does nothing and returns
  // false. Else publishes `next`, which is `base` changed by `commands`, and returns true.
  // REQUIRES: `next` comes one revision after `base`; the published state is not older than `base`;
  // and no other batch of this history has the number.
  bool Publish(const State& base, StatePtr next, const std::vector<LogCommand>& commands);
  // Wakes those who follow the feed. To be called after one or more calls of Publish: by the writer
  // when it has given the answers, for whoever is woken takes a processor.
  void WakeFollowers() { feed_.Wake(); }
  // Publishes `state`, which was loaded from the tables. Forgets all other states and the content
  // of the feed. Does nothing if the published state has a later revision than `state`.
  void Replace(StatePtr state);

  // To be called by the writer before it sends `batch` to be committed. REQUIRES: every commit that
  // began before has ended (EndCommit).
  void BeginCommit(BatchId batch);
  // To be called when `batch` is published, or when its commit failed or was lost.
  void EndCommit(BatchId batch);
  // The batch whose commit has begun and not ended; all zero if there is none.
  BatchId committing() const;

  // Notes that the published state was up to date at `began`, a time of the boot clock. If the
  // state was too stale for readers and is not any more, gives it to the readers whose `minimum` it
  // has reached. The last good state counts as up to date if the database went back in time.
  void SetFresh(absl::Duration began);
  // How much time has passed since the newest `began` that SetFresh was called with.
  absl::Duration staleness() const;
  BootTime boot_now() const { return boot_clock_(); }

  Feed& feed() { return feed_; }

 private:
  // Posts the calls, which may take any lock. When the answerer has stopped, Post itself makes a
  // call on this thread.
  void Post(std::vector<WaitingRoom::Call> calls);
  // Looks at the readers whose `minimum` the newest state has reached. Gives them this state,
  // unless it is too stale. Refuses those whose `minimum` is refused by CheckRevision.
  void TellOfNewest();
  void SetNewest(StatePtr state, bool forget_older) ABSL_EXCLUSIVE_LOCKS_REQUIRED(publishing_);

  const absl::Duration staleness_max_;
  const std::function<absl::Duration()> boot_clock_;
  Answerer* const answerer_;
  Feed feed_;
  std::atomic<int64_t> fresh_at_ns_{0};

  Mutex publishing_;  // held while a state is published; readers do not take it
  // Guards the readers who wait. A reader is admitted only while the newest state, under the same
  // lock, has not reached its revision; each new state is set before TellOfNewest takes this lock.
  // So no reader misses its revision. Taken after publishing_ and before mutex_.
  Mutex waiting_;
  WaitingRoom room_ ABSL_GUARDED_BY(waiting_);
  bool closed_ ABSL_GUARDED_BY(waiting_) = false;
  mutable Mutex mutex_;
  std::deque<StatePtr> recent_ ABSL_GUARDED_BY(mutex_);  // the newest last; never empty
  std::deque<StatePtr> old_ ABSL_GUARDED_BY(mutex_);     // no longer recent; for FreeOld
  BatchId committing_ ABSL_GUARDED_BY(mutex_);
  std::thread::id committer_ ABSL_GUARDED_BY(mutex_);  // the thread that called BeginCommit last
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_PUBLISH_PUBLISHER_H_
