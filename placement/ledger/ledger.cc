#include "placement/ledger/ledger.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/answerer.h"
#include "placement/ledger/command_queue.h"
#include "placement/ledger/follower.h"
#include "placement/ledger/health.h"
#include "placement/ledger/publisher.h"
#include "placement/ledger/writer.h"
#include "placement/store/database.h"
#include "placement/store/database_watch.h"
#include "placement/store/rows.h"
#include "placement/store/rows_load.h"
#include "placement/store/schema.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

// One statement that reads a whole table takes no longer, unless the database hangs.
constexpr absl::Duration kTablesWithin = absl::Minutes(2);

absl::Status NoRecovery() {
  return Refuse(absl::StatusCode::kFailedPrecondition, "WRONG_LEDGER_STATE",
                "the ledger requires no recovery");
}

// A connection that `watch` watches. Brings the database up to date first: it may be new, or a backup
// of an older release that was put back.
absl::StatusOr<std::shared_ptr<Database>> ConnectUpToDate(const std::string& url,
                                                          absl::string_view purpose,
                                                          DatabaseWatch* watch) {
  auto connected = ConnectToPrimary(url, purpose);
  if (!connected.ok()) return connected.status();
  std::shared_ptr<Database> database = *std::move(connected);
  const absl::Status prepared = BringUpToDate(*database);
  if (!prepared.ok()) return prepared;
  watch->Add(database);
  return database;
}

}  // namespace

class Ledger::Impl {
 public:
  Impl(const LedgerOptions& options, StatePtr first)
      : options_(options),
        condition_(options.tell_operator),
        publisher_(options, std::move(first), &answerer_),
        queue_(options.queue_max),
        writer_(options, &publisher_, &queue_, &answerer_, &condition_),
        follower_(options.database_url, &publisher_, &condition_) {
    publisher_.SetFresh(publisher_.BootTime());
    writer_.Start();
  }

  void Submit(Command command, absl::Time deadline, std::shared_ptr<std::atomic<bool>> cancelled,
              absl::AnyInvocable<void(Decision)> done) {
    absl::Status refused = condition_.WhyNoWrites();
    if (refused.ok() && !Reachable()) {
      refused = NotDone("placement has no connection to the database");
    }
    if (!refused.ok()) return done(OnlyStatus(std::move(refused)));
    auto pending = std::make_shared<Pending>();
    pending->command = std::move(command);
    pending->deadline = deadline;
    pending->cancelled = std::move(cancelled);
    pending->done = std::move(done);
    if (queue_.Push(pending)) return;
    pending->done(OnlyStatus(NotDone("too many writes are waiting, or placement is stopping")));
  }

  void Watchdog() {
    writer_.Watch();
    follower_.Watch(options_.no_progress_max);
    watch_.ShutIfSlow(kTablesWithin);
    const absl::Time now = absl::Now();
    answerer_.Post(queue_.Expire(now));
    publisher_.Expire(now);
    publisher_.FreeOld();
    if (condition_.recovery_required) return;
    LossPtr past;  // freed without the lock
    const MutexLock lock(&loss_mutex_);
    past.swap(loss_);
  }

  absl::Status StartEpoch(const EpochStart& start) {
    if (!condition_.recovery_required) return NoRecovery();
    auto database = ConnectUpToDate(options_.database_url, "berth-placement epoch", &watch_);
    if (!database.ok()) return database.status();
    absl::StatusOr<State> state = BeginEpoch(**database, *publisher_.Newest(), start);
    if (!state.ok()) return state.status();
    const Position& position = state->position();
    condition_.Tell(absl::StrCat(start.actor, " began epoch ", position.revision.epoch,
                                 " at revision ", position.revision.number, ": ", start.reason));
    publisher_.Replace(std::make_shared<const State>(*std::move(state)));
    condition_.recovery_required = false;
    return absl::OkStatus();
  }

  absl::StatusOr<LossPtr> FindLoss() {
    const MutexLock loading(&loading_);
    if (!condition_.recovery_required) return NoRecovery();
    auto database = ConnectUpToDate(options_.database_url, "berth-placement recovery", &watch_);
    if (!database.ok()) return database.status();
    const absl::StatusOr<std::optional<LogRow>> head = ReadHead(**database);
    if (!head.ok()) return head.status();
    const BatchId newest = *head ? (*head)->position.batch : BatchId();
    {
      const MutexLock lock(&loss_mutex_);
      if (loss_ != nullptr && loss_->database->position().batch == newest) return loss_;
    }
    absl::StatusOr<State> tables = LoadState(**database);
    if (!tables.ok()) return tables.status();
    auto loss = std::make_shared<Loss>();
    loss->last_good = publisher_.Newest();
    loss->database = std::make_shared<const State>(*std::move(tables));
    loss->differences = Differences(*loss->last_good, *loss->database);
    const MutexLock lock(&loss_mutex_);
    loss_ = loss;
    return loss_;
  }

  LedgerHealth health() const {
    LedgerHealth health;
    health.recovery_required = condition_.recovery_required;
    health.format_too_new = condition_.format_too_new;
    health.writing_stopped = condition_.writing_stopped;
    health.writable = Reachable() && condition_.WhyNoWrites().ok();
    health.staleness = publisher_.staleness();
    if (health.recovery_required) health.database_revision = condition_.database_revision();
    health.oldest_watchable = condition_.oldest_watchable();
    health.queue_length = queue_.size();
    health.batches = condition_.batches;
    health.commands = condition_.commands;
    health.refusals = condition_.refusals;
    health.in_doubt = condition_.in_doubt;
    health.reconnects = condition_.reconnects;
    health.claims_done = condition_.claims_done;
    health.claims_without_room = condition_.claims_without_room;
    health.claims_refused = condition_.claims_refused;
    health.provider_conflicts = condition_.provider_conflicts;
    health.consumer_conflicts = condition_.consumer_conflicts;
    health.followed_rows = condition_.followed_rows;
    health.reloads = condition_.reloads;
    return health;
  }

  void Stop(absl::Time settle_until) {
    queue_.Close();
    writer_.Stop(settle_until);
    follower_.Watch(absl::ZeroDuration());
    publisher_.Close();
    answerer_.Stop();
  }

  Publisher& publisher() { return publisher_; }
  Follower& follower() { return follower_; }

 private:
  bool Reachable() const { return condition_.reachable && !writer_.ConnectsSlowly(); }

  const LedgerOptions options_;
  Condition condition_;
  Answerer answerer_;
  Publisher publisher_;
  CommandQueue queue_;
  Writer writer_;
  Follower follower_;
  DatabaseWatch watch_;  // of what operators ask for
  Mutex loading_;        // one comparison with the database at a time; before the other one
  Mutex loss_mutex_;
  LossPtr loss_ ABSL_GUARDED_BY(loss_mutex_);  // of the present recovery; kept for its pages
};

absl::StatusOr<std::unique_ptr<Ledger>> Ledger::Open(const LedgerOptions& options) {
  DatabaseWatch nobody;
  auto database = ConnectUpToDate(options.database_url, "berth-placement start", &nobody);
  if (!database.ok()) return database.status();
  absl::StatusOr<State> state = LoadState(**database);
  if (!state.ok()) return state.status();
  auto first = std::make_shared<const State>(*std::move(state));
  return std::unique_ptr<Ledger>(new Ledger(std::make_unique<Impl>(options, std::move(first))));
}

Ledger::Ledger(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Ledger::~Ledger() { Stop(absl::Now() + absl::Seconds(5)); }

void Ledger::Submit(Command command, absl::Time deadline,
                    std::shared_ptr<std::atomic<bool>> cancelled,
                    absl::AnyInvocable<void(Decision)> done) {
  impl_->Submit(std::move(command), deadline, std::move(cancelled), std::move(done));
}

StatePtr Ledger::Newest() const { return impl_->publisher().Newest(); }
absl::StatusOr<StatePtr> Ledger::Fresh() const { return impl_->publisher().Fresh(); }

void Ledger::AwaitRevision(Revision minimum, absl::Time deadline,
                           absl::AnyInvocable<void(absl::StatusOr<StatePtr>)> ready) {
  impl_->publisher().AwaitRevision(minimum, deadline, std::move(ready));
}

StatePtr Ledger::Recent(Revision revision) const { return impl_->publisher().Recent(revision); }
absl::StatusOr<int> Ledger::Follow() { return impl_->follower().Follow(); }
void Ledger::Watchdog() { impl_->Watchdog(); }

absl::Status Ledger::StartEpoch(const EpochStart& start) { return impl_->StartEpoch(start); }
absl::StatusOr<LossPtr> Ledger::FindLoss() { return impl_->FindLoss(); }

Feed& Ledger::feed() { return impl_->publisher().feed(); }
LedgerHealth Ledger::health() const { return impl_->health(); }
void Ledger::Stop(absl::Time settle_until) { impl_->Stop(settle_until); }

}  // namespace berth::placement
