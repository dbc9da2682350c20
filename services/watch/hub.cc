#include "services/watch/hub.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/check.h"
#include "placement/state/lookup.h"
#include "services/log/history_alarm.h"

namespace berth::services {

using placement::FeedBatchPtr;
using placement::MutexLock;
using placement::Revision;

namespace {

constexpr int kBatchesAtOnce = 16;
constexpr size_t kChangesAtOnce = 256;
constexpr int kRounds = 16;  // rounds before other work gets the worker
constexpr absl::Duration kAwaitMax = absl::Seconds(10);
constexpr absl::Duration kReadingMax = absl::Seconds(5);

absl::Status Stopping() {
  return placement::Refuse(absl::StatusCode::kUnavailable, "NOT_SERVING",
                           "placement is stopping: continue with another process");
}

// Whether the backlog `ahead` is so small that the watcher may become live: a live watcher gets its
// messages without a check for room. The changes of the first batch are not counted.
bool IsLittle(const std::vector<FeedBatchPtr>& ahead) {
  size_t changes = 0;
  for (size_t i = 1; i < ahead.size(); ++i) {
    for (const auto& command : ahead[i]->commands) changes += command.changes->size();
  }
  return ahead.size() <= kBatchesAtOnce && changes <= kChangesAtOnce;
}

}  // namespace

WatchHub::WatchHub(placement::Ledger* ledger, Workers* workers, const std::string& database_url)
    : ledger_(ledger), workers_(workers), log_(database_url) {
  feed_handle_ = ledger->feed().Subscribe([this] { Wake(); });
}

WatchHub::~WatchHub() { ledger_->feed().Unsubscribe(feed_handle_); }

void WatchHub::Open(const WatcherPtr& watcher, const pb::WatchRequest& request) {
  {
    MutexLock lock(&mutex_);
    open_.insert(watcher);
    if (ended_) return watcher->End(Stopping());
  }
  if (absl::Status text = CheckText(request); !text.ok()) return watcher->End(text);
  // The request is parsed against an empty state first, so that a malformed request is refused
  // before the process waits for a state.
  static const placement::State* const kNothing = new placement::State();
  if (const auto formed = WatchFilter::Of(request, *kNothing); !formed.ok()) {
    return watcher->End(formed.status());
  }
  if (request.has_after_revision()) return BeginAfter(watcher, request);
  const absl::StatusOr<placement::StatePtr> state = ledger_->Fresh();
  if (!state.ok()) return watcher->End(state.status());
  const absl::StatusOr<WatchFilter> filter = WatchFilter::Of(request, **state);
  if (!filter.ok()) return watcher->End(filter.status());
  std::unique_ptr<WatchSnapshot> snapshot;
  if (request.has_snapshot()) snapshot = std::make_unique<WatchSnapshot>(*state, *filter);
  watcher->Begin(*filter, (*state)->position().resume_point(), std::move(snapshot));
  if (!request.has_snapshot()) watcher->SayWhere();
  watcher->Start();
  Continue(watcher);
}

void WatchHub::BeginAfter(const WatcherPtr& watcher, const pb::WatchRequest& request) {
  const Revision revision = RevisionOf(request.after_revision());
  if (revision.epoch < 0 || revision.number < 0) {
    return watcher->End(InvalidField("after_revision", "must not be negative"));
  }
  // Waits until this process has the watcher's revision, which may come from a process that is
  // ahead. Until then its state may lack the trees that the filter names.
  ledger_->AwaitRevision(
      revision, placement::BootNow() + kAwaitMax, {watcher->owner(), watcher->gone()},
      [this, watcher, request, revision](const absl::StatusOr<placement::StatePtr>& state) {
        if (!state.ok()) {
          if (absl::IsDeadlineExceeded(state.status())) Alarm(revision);
          return watcher->End(state.status());
        }
        // A watcher at the newest revision becomes live without CatchUp, which would check the
        // revision's batch. So it is checked here.
        const absl::Status lost = ledger_->feed().After(revision, 1).status();
        if (absl::IsFailedPrecondition(lost)) {
          Alarm(revision);
          return watcher->End(lost);
        }
        const absl::StatusOr<WatchFilter> filter = WatchFilter::Of(request, **state);
        if (!filter.ok()) return watcher->End(filter.status());
        watcher->Begin(*filter, revision, nullptr);
        watcher->Start();
        Continue(watcher);
      });
}

void WatchHub::Continue(const WatcherPtr& watcher) {
  if (!watcher->IsHungry()) return;
  {
    MutexLock lock(&mutex_);
    if (!working_.insert(watcher.get()).second) return;
  }
  const auto refuse = [this, watcher] {
    MutexLock lock(&mutex_);
    working_.erase(watcher.get());  // Tick retries
  };
  const bool taken = workers_->Submit(
      {watcher->owner(), placement::Priority::kReads}, [this, watcher] { Work(watcher); }, refuse);
  if (!taken) refuse();
}

void WatchHub::Closed(const WatcherPtr& watcher) {
  BERTH_CHECK(watcher->ended());  // its sink closes the stream after the end
  MutexLock lock(&mutex_);
  Leave(watcher.get());
  open_.erase(watcher);
}

void WatchHub::Work(const WatcherPtr& watcher) {
  Progress progress = Progress::kMore;
  for (int round = 0; round < kRounds && progress == Progress::kMore; ++round) {
    progress = WorkOnce(watcher);
  }
  {
    MutexLock lock(&mutex_);
    BERTH_CHECK(working_.erase(watcher.get()) == 1);
    if (progress == Progress::kLogIsTaken && log_is_taken_) {
      if (!absl::c_linear_search(for_log_, watcher)) for_log_.push_back(watcher);
      return;
    }
  }
  // While the watcher was in working_, Continue did nothing for it. So Continue is called again.
  Continue(watcher);
}

WatchHub::Progress WatchHub::WorkOnce(const WatcherPtr& watcher) {
  if (!watcher->IsHungry() || watcher->TellSnapshot()) return Progress::kNoMore;
  {
    MutexLock lock(&mutex_);
    if (ended_ || Join(watcher.get())) return Progress::kNoMore;
  }
  return CatchUp(watcher.get());
}

WatchHub::Progress WatchHub::CatchUp(Watcher* watcher) {
  const Revision position = watcher->position();
  absl::Status status = placement::CheckRevision(*ledger_->Newest(), position);
  if (status.ok()) {
    auto batches = ledger_->feed().After(position, kBatchesAtOnce);
    if (!batches.ok()) {
      if (!TakeLog()) return Progress::kLogIsTaken;
      batches = log_.After(position, kBatchesAtOnce);
      LeaveLog();
    }
    status = batches.ok() ? TellBatches(*batches, watcher) : batches.status();
  }
  if (status.ok()) return Progress::kMore;
  // FailedPrecondition means that another batch has the revision number of the watcher's position
  // now, so the watcher has seen a revision that was lost. This is an alarm only within one epoch:
  // after an operator has begun a new epoch, lost revisions are expected.
  const bool lost = absl::IsFailedPrecondition(status);
  if (lost && position.epoch == ledger_->Newest()->position().revision.epoch) Alarm(position);
  watcher->End(status);
  return Progress::kNoMore;
}

void WatchHub::Alarm(Revision seen) {
  AlarmOfHistory("a watcher", seen, ledger_->Newest()->position().revision);
}

// Gives the watcher the first of `batches`, as many as it has room for. It gets the others when its
// messages have been sent. Fails if a batch cannot be encoded.
absl::Status WatchHub::TellBatches(const std::vector<FeedBatchPtr>& batches, Watcher* watcher) {
  for (const FeedBatchPtr& batch : batches) {
    if (!watcher->HasRoom()) break;
    BERTH_ASSIGN_OR_RETURN(const ToldRevisionPtr told, Told(*batch));
    watcher->Tell(*told);
  }
  return absl::OkStatus();
}

bool WatchHub::TakeLog() {
  MutexLock lock(&mutex_);
  return !std::exchange(log_is_taken_, true);
}

void WatchHub::LeaveLog() {
  WatcherPtr next;
  {
    MutexLock lock(&mutex_);
    BERTH_CHECK(std::exchange(log_is_taken_, false));
    if (for_log_.empty()) return;
    next = std::move(for_log_.front());
    for_log_.pop_front();
  }
  Continue(next);
}

// Makes `watcher` live if its position allows this. Returns true if the watcher no longer needs a
// worker: it is live or has ended.
bool WatchHub::Join(Watcher* watcher) {
  const Revision position = watcher->position();
  if (position < untold_) return false;  // CatchUp will end the watcher with the reason
  if (live_.empty()) {
    const auto ahead = ledger_->feed().After(position, kBatchesAtOnce + 1);
    if (!ahead.ok() || !IsLittle(*ahead)) return false;
    followed_ = position;
  } else if (position < followed_) {
    return false;
  }
  if (watcher->ended()) return true;
  BERTH_CHECK(position >= followed_ && !live_.contains(watcher));
  const WatchFilter& filter = watcher->filter();
  live_.insert(watcher);
  live_count_ = static_cast<int>(live_.size());
  if (!filter.by_tree()) of_all_trees_.insert(watcher);
  for (const auto root : filter.roots()) by_root_[root].insert(watcher);
  // A filter that names trees and aggregates passes only changes in those trees. So the watcher is
  // found by its trees, and is not registered under its aggregates.
  if (filter.roots().empty()) {
    for (const auto aggregate : filter.aggregates()) by_aggregate_[aggregate].insert(watcher);
  }
  watcher->SetLive(true);
  Wake();  // for batches that came after `position` was read
  return true;
}

void WatchHub::Leave(Watcher* watcher) {
  if (live_.erase(watcher) == 0) return;
  live_count_ = static_cast<int>(live_.size());
  of_all_trees_.erase(watcher);
  const auto leave = [watcher](auto* by, const auto& keys) {
    for (const auto& key : keys) {
      const auto found = by->find(key);
      if (found == by->end()) continue;
      found->second.erase(watcher);
      if (found->second.empty()) by->erase(found);
    }
  };
  leave(&by_root_, watcher->filter().roots());
  leave(&by_aggregate_, watcher->filter().aggregates());
}

// Makes a worker follow the feed. Called by the thread that publishes a state, so it does nothing
// else.
void WatchHub::Wake() {
  if (live_count_ == 0 || following_.exchange(true)) return;
  const auto refuse = [this] { following_ = false; };  // Tick retries
  const bool taken = workers_->Submit(
      {}, [this] { FollowFeed(); }, refuse);
  if (!taken) refuse();
}

void WatchHub::FollowFeed() {
  for (int round = 0; round < kRounds; ++round) {
    if (FollowOnce()) continue;
    following_ = false;
    // Looks at the feed once more: a batch may have been appended after FollowOnce looked and
    // before `following_` was cleared, and woke nobody.
    if (!FollowOnce() || following_.exchange(true)) return;
  }
  following_ = false;
  Wake();  // goes on after work that waits for this worker
}

// Gives the live watchers the next batches of the feed. Returns whether there were any batches.
bool WatchHub::FollowOnce() {
  MutexLock follow(&follow_mutex_);
  Revision from;
  {
    MutexLock lock(&mutex_);
    if (live_.empty()) return false;
    from = followed_;
  }
  const auto batches = ledger_->feed().After(from, kBatchesAtOnce);
  if (!batches.ok()) {
    SendBack();
    return false;
  }
  for (const FeedBatchPtr& batch : *batches) {
    const absl::StatusOr<ToldRevisionPtr> told = Told(*batch);
    if (!told.ok()) {
      {
        MutexLock lock(&mutex_);
        untold_ = batch->revision;
      }
      SendBack();
      return false;
    }
    MutexLock lock(&mutex_);
    if (followed_ != from) return true;  // all live watchers have changed meanwhile
    Dispatch(**told);
    followed_ = from = batch->revision;
  }
  return !batches->empty();
}

// Changes all live watchers to "behind". Called if the feed no longer has their next batch, or if
// that batch cannot be encoded. Then each watcher is caught up by a worker, or ends with an error.
void WatchHub::SendBack() {
  std::vector<WatcherPtr> back;
  {
    MutexLock lock(&mutex_);
    for (const WatcherPtr& watcher : open_) {
      if (live_.contains(watcher.get())) back.push_back(watcher);
    }
    for (const WatcherPtr& watcher : back) {
      watcher->SkipTo(followed_);
      Leave(watcher.get());
      watcher->SetLive(false);
    }
  }
  for (const WatcherPtr& watcher : back) Continue(watcher);
}

void WatchHub::Dispatch(const ToldRevision& told) {
  // The feed tells each revision once, in order.
  BERTH_CHECK(told.revision() > followed_);
  for (Watcher* const watcher : of_all_trees_) watcher->Tell(told);
  if (by_root_.empty() && by_aggregate_.empty()) return;
  Watchers concerned;
  const auto add = [&concerned](const auto& by, const auto& key) {
    const auto found = by.find(key);
    if (found == by.end()) return;
    concerned.insert(found->second.begin(), found->second.end());
  };
  for (const ToldChange& change : told.changes()) {
    if (!change.in_trees) {  // filters by tree do not apply to the change
      concerned = live_;
      break;
    }
    for (const auto* places : {&change.before, &change.after}) {
      for (const TreePlace& place : *places) {
        add(by_root_, place.root);
        for (const auto aggregate : place.aggregates) add(by_aggregate_, aggregate);
      }
    }
  }
  for (Watcher* const watcher : concerned) watcher->Tell(told);
}

absl::StatusOr<ToldRevisionPtr> WatchHub::Told(const placement::FeedBatch& batch) {
  const placement::StatePtr newest = ledger_->Newest();
  std::shared_ptr<const Names> names;
  {
    MutexLock lock(&names_mutex_);
    names_.Learn(newest->catalog());
    for (const auto& command : batch.commands) names_.Learn(*command.changes);
    names = names_.names();
  }
  return ToldRevision::Of(batch, *names);
}

void WatchHub::Tick(placement::BootTime now) {
  log_.Watch(kReadingMax);
  std::vector<WatcherPtr> open;
  {
    MutexLock lock(&mutex_);
    open.assign(open_.begin(), open_.end());
    for (const WatcherPtr& watcher : open) watcher->Beat(followed_, now);
  }
  for (const WatcherPtr& watcher : open) Continue(watcher);
  Wake();
}

void WatchHub::EndAll() {
  std::set<WatcherPtr> open;
  {
    MutexLock lock(&mutex_);
    ended_ = true;
    open = open_;
  }
  for (const WatcherPtr& watcher : open) watcher->End(Stopping());
}

void WatchHub::Measure(Samples* samples) const {
  MutexLock lock(&mutex_);
  samples->Gauge("watch_streams", "Watchers of this process.", static_cast<double>(open_.size()));
}

}  // namespace berth::services
