#include "placement/publish/publisher.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/commands/decision.h"
#include "placement/ground/check.h"
#include "placement/state/lookup.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

constexpr size_t kRecentMax = 8;
// At most this many old states wait for FreeOld.
constexpr size_t kOldMax = 32;
// Of a step of Expire, so that it keeps nobody from the lock for long.
constexpr int kLookedAtMax = 1000;
// Of a step of Expire, so that a caller who asks again at once makes no more work than this.
constexpr int kRefusedMax = 10;

absl::Status NotReached() {
  return Refuse(
      absl::StatusCode::kDeadlineExceeded, "REVISION_NOT_REACHED",
      "this process did not reach the minimum_revision in time: try again, or ask another process");
}

absl::Status Stopping() { return NotDone("placement is stopping: ask another process"); }

}  // namespace

Publisher::Publisher(const LedgerOptions& options, StatePtr first, Answerer* answerer)
    : staleness_max_(options.staleness_max),
      boot_clock_(options.boot_clock),
      answerer_(answerer),
      feed_({options.feed_rows_kept, options.feed_changes_kept, options.feed_bytes_kept}),
      room_(options.awaits_max) {
  recent_.push_back(std::make_shared<const State>());
  Replace(std::move(first));
}

StatePtr Publisher::Newest() const {
  const MutexLock lock(&mutex_);
  return recent_.back();
}

absl::StatusOr<StatePtr> Publisher::Fresh() const {
  const absl::Duration age = staleness();
  if (age > staleness_max_) {
    return Refuse(absl::StatusCode::kUnavailable, "STALE",
                  absl::StrCat("the state may be out of date: the database last answered ",
                               absl::FormatDuration(age), " ago"));
  }
  return Newest();
}

StatePtr Publisher::Recent(Revision revision) const {
  const MutexLock lock(&mutex_);
  for (const StatePtr& state : recent_) {
    if (state->position().revision == revision) return state;
  }
  return nullptr;
}

void Publisher::AwaitRevision(Revision minimum, BootTime deadline, ReadingCall call,
                              absl::AnyInvocable<void(absl::StatusOr<StatePtr>)> ready) {
  absl::StatusOr<StatePtr> answer = Fresh();
  {
    const MutexLock lock(&waiting_);
    StatePtr newest = Newest();
    const absl::Status never = CheckRevision(*newest, minimum);
    if (!never.ok()) {
      answer = never;
    } else if (newest->position().revision < minimum) {
      WaitingRoom::Waiter waiter{minimum, deadline, std::move(call), std::move(ready)};
      const absl::Status admitted = closed_ ? Stopping() : room_.Admit(&waiter);
      if (admitted.ok()) return;
      ready = std::move(waiter.ready);
      answer = admitted;
    } else if (answer.ok()) {
      answer = std::move(newest);
    }
  }
  ready(std::move(answer));
}

void Publisher::Expire(BootTime now) {
  std::vector<WaitingRoom::Call> refused;
  std::vector<WaitingRoom::Call> calls;
  {
    const MutexLock lock(&waiting_);
    refused = room_.ClearYard(kRefusedMax);
    calls = room_.TakeSome(kLookedAtMax, [now](const WaitingRoom::Waiter& waiter) {
      std::optional<WaitingRoom::Answer> answer;
      if (waiter.call.cancelled && *waiter.call.cancelled) {
        answer = absl::CancelledError("the caller has gone");
      } else if (waiter.deadline <= now) {
        answer = NotReached();
      }
      return answer;
    });
  }
  Post(std::move(refused));
  Post(std::move(calls));
}

void Publisher::FreeOld() {
  std::deque<StatePtr> old;
  const MutexLock lock(&mutex_);
  old.swap(old_);
}

void Publisher::Close() {
  std::vector<WaitingRoom::Call> calls;
  {
    const MutexLock lock(&waiting_);
    closed_ = true;
    calls = room_.TakeAny(
        [](const WaitingRoom::Waiter&) { return std::optional<WaitingRoom::Answer>(Stopping()); });
  }
  Post(std::move(calls));
}

void Publisher::Post(std::vector<WaitingRoom::Call> calls) {
  for (WaitingRoom::Call& call : calls) answerer_->Post(std::move(call));
}

bool Publisher::Publish(const State& base, StatePtr next, const std::vector<LogCommand>& commands) {
  const MutexLock publishing(&publishing_);
  const Position newest = Newest()->position();
  const Position& position = next->position();
  {
    const MutexLock lock(&mutex_);
    BERTH_CHECK(committing_ != position.batch || committer_ == std::this_thread::get_id());
  }
  if (newest.revision.number >= position.revision.number) {
    BERTH_CHECK(newest.revision.number > position.revision.number ||
                newest.batch == position.batch);
    return false;
  }
  BERTH_CHECK(newest.revision.number + 1 == position.revision.number);
  BERTH_CHECK(newest.batch == base.position().batch);
  FeedBatchPtr batch = FeedBatchOf(position, commands);
  SetNewest(std::move(next), false);
  feed_.Append(batch);
  return true;
}

void Publisher::Replace(StatePtr state) {
  const MutexLock publishing(&publishing_);
  if (Newest()->position().revision > state->position().revision) return;
  feed_.Restart(state->position().resume_point());
  SetNewest(std::move(state), true);
}

void Publisher::SetNewest(StatePtr state, bool forget_older) {
  std::deque<StatePtr> old;  // freed after the lock is released: a state may be large
  {
    const MutexLock lock(&mutex_);
    recent_.push_back(std::move(state));
    while (recent_.size() > (forget_older ? 1 : kRecentMax)) {
      old_.push_back(std::move(recent_.front()));
      recent_.pop_front();
    }
    if (forget_older) old.swap(old_);
    while (old_.size() > kOldMax) {
      old.push_back(std::move(old_.front()));
      old_.pop_front();
    }
  }
  TellOfNewest();
}

// Gives readers no state while the state is too stale; SetFresh gives it to them later. The state
// is stale while a thread catches up: that thread publishes many revisions, and only the last one
// is fresh.
void Publisher::TellOfNewest() {
  std::vector<WaitingRoom::Call> calls;
  {
    const MutexLock lock(&waiting_);
    const StatePtr state = Newest();
    const bool is_stale = staleness() > staleness_max_;
    calls = room_.TakeUpTo(state->position().revision, [&](const WaitingRoom::Waiter& waiter) {
      std::optional<WaitingRoom::Answer> answer;
      if (absl::Status lost = CheckRevision(*state, waiter.minimum); !lost.ok()) {
        answer = std::move(lost);
      } else if (!is_stale) {
        answer = state;
      }
      return answer;
    });
  }
  Post(std::move(calls));
}

void Publisher::BeginCommit(BatchId batch) {
  const MutexLock lock(&mutex_);
  BERTH_CHECK(committing_ == BatchId() && batch != BatchId());
  committing_ = batch;
  committer_ = std::this_thread::get_id();
}

void Publisher::EndCommit(BatchId batch) {
  const MutexLock lock(&mutex_);
  BERTH_CHECK(committing_ == batch);
  committing_ = BatchId();
}

BatchId Publisher::committing() const {
  const MutexLock lock(&mutex_);
  return committing_;
}

void Publisher::SetFresh(absl::Duration began) {
  const int64_t began_ns = absl::ToInt64Nanoseconds(began);
  const bool was_stale = staleness() > staleness_max_;
  int64_t fresh_ns = fresh_at_ns_;
  while (fresh_ns < began_ns && !fresh_at_ns_.compare_exchange_weak(fresh_ns, began_ns)) {
  }
  if (was_stale) TellOfNewest();
}

absl::Duration Publisher::staleness() const {
  return boot_clock_() - absl::Nanoseconds(fresh_at_ns_.load());
}

}  // namespace berth::placement
