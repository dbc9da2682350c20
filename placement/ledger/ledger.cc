#include "placement/ledger/ledger.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/ground/boot_clock.h"
#include "placement/ledger/record_check.h"
#include "placement/publish/answerer.h"
#include "placement/publish/follower.h"
#include "placement/publish/health.h"
#include "placement/publish/publisher.h"
#include "placement/store/database.h"
#include "placement/store/database_watch.h"
#include "placement/store/position_file.h"
#include "placement/store/rows.h"
#include "placement/store/rows_load.h"
#include "placement/store/schema.h"
#include "placement/values/refusal.h"
#include "placement/writer/command_queue.h"
#include "placement/writer/writer.h"

namespace berth::placement {
namespace {

absl::Status NoRecovery() {
  return Refuse(absl::StatusCode::kFailedPrecondition, "WRONG_LEDGER_STATE",
                "no recovery is required: the database has not gone back in time");
}

// If an operator's call that reads whole tables takes longer than this, it fails.
constexpr absl::Duration kTablesWithin = absl::Minutes(2);

// Connects, applies the steps of the schema that the database lacks (it may be new, or a restored
// backup of an older release), and adds the connection to `watch`.
absl::StatusOr<std::shared_ptr<Database>> ConnectUpToDate(const std::string& url,
                                                          absl::string_view purpose,
                                                          DatabaseWatch& watch) {
  BERTH_ASSIGN_OR_RETURN(std::shared_ptr<Database> database, ConnectToPrimary(url, purpose));
  BERTH_RETURN_IF_ERROR(BringUpToDate(*database));
  watch.Add(database);
  return database;
}

// The position in this process's file, if the database has lost that position; else none.
absl::StatusOr<std::optional<Position>> FindLost(Database& database, const LedgerOptions& options) {
  const absl::StatusOr<std::optional<Position>> seen = PositionFile(options.position_path).Read();
  if (!seen.ok()) {
    if (options.tell_operator) {
      options.tell_operator(absl::StrCat(seen.status().message(),
                                         ": so it is not known whether the database was restored"));
    }
    return std::optional<Position>();
  }
  if (!*seen) return std::optional<Position>();
  BERTH_ASSIGN_OR_RETURN(const bool lost, HasLost(database, **seen));
  return lost ? *seen : std::optional<Position>();
}

}  // namespace

Ledger::Ledger(const LedgerOptions& options, StatePtr first, const std::optional<Position>& lost)
    : options_(options),
      health_(std::make_unique<Health>(options.tell_operator)),
      answerer_(std::make_unique<Answerer>()),
      publisher_(std::make_unique<Publisher>(options, std::move(first), answerer_.get())),
      queue_(std::make_unique<CommandQueue>(options.queue_max)),
      writer_(std::make_unique<Writer>(options, publisher_.get(), queue_.get(), answerer_.get(),
                                       health_.get())),
      follower_(std::make_unique<Follower>(options.database_url, publisher_.get(), health_.get())) {
  publisher_->SetFresh(publisher_->boot_now());
  if (lost) {
    const Revision newest = publisher_->Newest()->position().resume_point();
    health_->SetLost(*lost);
    health_->SetDatabaseRevision(newest);
    health_->RequireRecovery(absl::StrCat(
        "the database went back in time while this process was down: ", options.position_path,
        " has revision ", lost->revision.number, " of epoch ", lost->revision.epoch,
        ", the database ", newest.number, " of epoch ", newest.epoch));
  }
  for (const std::string& fault : UnreadableRecords(*publisher_->Newest())) {
    health_->Tell(fault);
  }
  writer_->Start();
}

Ledger::~Ledger() { Stop(BootNow() + absl::Seconds(5)); }

absl::StatusOr<std::unique_ptr<Ledger>> Ledger::Open(const LedgerOptions& options) {
  DatabaseWatch nobody;  // watches no call: the start may take long
  BERTH_ASSIGN_OR_RETURN(auto database,
                         ConnectUpToDate(options.database_url, "berth-placement start", nobody));
  BERTH_ASSIGN_OR_RETURN(State state, LoadState(*database));
  auto first = std::make_shared<const State>(std::move(state));
  BERTH_ASSIGN_OR_RETURN(const std::optional<Position> lost, FindLost(*database, options));
  return std::unique_ptr<Ledger>(new Ledger(options, std::move(first), lost));
}

void Ledger::Submit(Command command, BootTime deadline,
                    std::shared_ptr<std::atomic<bool>> cancelled,
                    absl::AnyInvocable<void(Decision)> done) {
  absl::Status refused = health_->WhyNoWrites();
  if (refused.ok() && !Reachable()) {
    refused = NotDone("placement has no connection to the database: nothing was done, try again");
  }
  if (!refused.ok()) return done(OnlyStatus(std::move(refused)));
  auto pending = std::make_shared<Pending>();
  pending->weight = WeightOf(command);
  pending->command = std::move(command);
  pending->deadline = deadline;
  pending->cancelled = std::move(cancelled);
  pending->done = std::move(done);
  PendingPtr put_out;
  switch (queue_->Push(pending, &put_out)) {
    case CommandQueue::Pushed::kTaken:
      break;
    case CommandQueue::Pushed::kFull:
      ++health_->refused_by_turn;
      return pending->done(OnlyStatus(QueueFull()));
    case CommandQueue::Pushed::kClosed:
      return pending->done(
          OnlyStatus(NotDone("placement is stopping: nothing was done, try again")));
  }
  if (put_out == nullptr) return;
  ++health_->refused_by_turn;
  std::vector<Answer> answers;
  std::optional<Answer> answer = put_out->Settle(OnlyStatus(QueueFull()));
  if (answer) answers.push_back(*std::move(answer));
  answerer_->Post(std::move(answers));
}

bool Ledger::Reachable() const { return health_->reachable && !writer_->ConnectsSlowly(); }

StatePtr Ledger::Newest() const { return publisher_->Newest(); }
absl::StatusOr<StatePtr> Ledger::Fresh() const { return publisher_->Fresh(); }
StatePtr Ledger::Recent(Revision revision) const { return publisher_->Recent(revision); }

void Ledger::AwaitRevision(Revision minimum, BootTime deadline, ReadingCall call,
                           absl::AnyInvocable<void(absl::StatusOr<StatePtr>)> ready) {
  publisher_->AwaitRevision(minimum, deadline, std::move(call), std::move(ready));
}

absl::StatusOr<int> Ledger::Follow() { return follower_->Follow(); }

void Ledger::Watchdog() {
  writer_->Watch();
  follower_->Watch(options_.no_progress_max);
  watch_.ShutIfSlow(kTablesWithin);
  const BootTime now = BootNow();
  answerer_->Post(queue_->Expire(now));
  publisher_->Expire(now);
  publisher_->FreeOld();
  if (health_->recovery_required) return;
  told_unreadable_ = false;
  LossPtr past;  // freed after the lock is released
  const MutexLock lock(&loss_mutex_);
  past.swap(loss_);
}

absl::Status Ledger::StartEpoch(const EpochStart& start) {
  if (!health_->recovery_required) return NoRecovery();
  BERTH_ASSIGN_OR_RETURN(auto database,
                         ConnectUpToDate(options_.database_url, "berth-placement epoch", watch_));
  BERTH_ASSIGN_OR_RETURN(
      State state,
      BeginEpoch(*database, health_->lost().value_or(publisher_->Newest()->position()), start));
  const Position& position = state.position();
  health_->Tell(absl::StrCat(start.actor, " began epoch ", position.revision.epoch, " at revision ",
                             position.revision.number, ": ", start.reason));
  const Revision begun = position.revision;
  publisher_->Replace(std::make_shared<const State>(std::move(state)));
  health_->Agree(begun);
  return absl::OkStatus();
}

absl::StatusOr<LossPtr> Ledger::KnownLoss() const {
  if (!health_->recovery_required) return NoRecovery();
  // If the database was restored while this process was down, the published state follows it.
  const Revision newest = health_->lost() ? publisher_->Newest()->position().resume_point()
                                          : health_->database_revision();
  const MutexLock lock(&loss_mutex_);
  if (loss_ == nullptr) return LossPtr();
  const Revision read = loss_->database->position().resume_point();
  return read == newest && read.batch == newest.batch ? loss_ : LossPtr();
}

absl::StatusOr<State> Ledger::LoadAsItIs(Database& database) {
  BERTH_ASSIGN_OR_RETURN(const int64_t version, ReadSchemaVersion(database));
  absl::StatusOr<State> tables = LoadState(database);
  if (version == SchemaSteps().back().version || !absl::IsInternal(tables.status())) return tables;
  if (!told_unreadable_.exchange(true)) health_->Tell(std::string(tables.status().message()));
  return Refuse(absl::StatusCode::kFailedPrecondition, "WRONG_LEDGER_STATE",
                "the database has the tables of an older release, so it cannot be listed what is "
                "lost: a new epoch brings them up to date");
}

absl::StatusOr<LossPtr> Ledger::FindLoss() {
  const MutexLock loading(&loading_);
  // Taken before the tables are read: an operator may begin an epoch meanwhile, which replaces it.
  const StatePtr last_good = publisher_->Newest();
  if (!health_->recovery_required) return NoRecovery();
  BERTH_ASSIGN_OR_RETURN(std::shared_ptr<Database> database,
                         ConnectToPrimary(options_.database_url, "berth-placement recovery"));
  watch_.Add(database);
  BERTH_ASSIGN_OR_RETURN(const std::optional<LogRow> head, ReadHead(*database));
  const BatchId newest = head ? head->position.batch : BatchId();
  {
    const MutexLock lock(&loss_mutex_);
    if (loss_ != nullptr && loss_->database->position().batch == newest) return loss_;
  }
  BERTH_ASSIGN_OR_RETURN(State tables, LoadAsItIs(*database));
  if (!health_->recovery_required) return NoRecovery();  // the tables may be those of a new epoch
  auto loss = std::make_shared<Loss>();
  loss->last_good = last_good;
  loss->database = std::make_shared<const State>(std::move(tables));
  loss->differences = Differences(*loss->last_good, *loss->database);
  const MutexLock lock(&loss_mutex_);
  loss_ = loss;
  return loss_;
}

std::optional<Position> Ledger::PositionToKeep() const {
  if (health_->lost()) return std::nullopt;
  return publisher_->Newest()->position();
}

Feed& Ledger::feed() { return publisher_->feed(); }

LedgerHealth Ledger::health() const {
  LedgerHealth health = health_->Snapshot();
  health.writable = health.writable && Reachable();
  health.staleness = publisher_->staleness();
  health.queue_length = queue_->size();
  return health;
}

void Ledger::Stop(BootTime settle_until) {
  queue_->Close();
  writer_->Stop(settle_until);
  follower_->Watch(absl::ZeroDuration());
  watch_.Close();
  publisher_->Close();
  answerer_->Stop();
}

}  // namespace berth::placement
