#include "placement/writer/writer.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/check.h"
#include "placement/ground/thread_name.h"
#include "placement/publish/catch_up.h"
#include "placement/store/database.h"
#include "placement/store/schema.h"

namespace berth::placement {
namespace {

constexpr int kCatchUpRows = 500;
// So many log rows are read together with the lock. More rows are read after it.
constexpr int kRowsWithLock = 64;
// If no command waits, the writer gives so many answers itself.
constexpr int kAnswersHere = 2;
// A batch may take longer than no_progress_max: by this much for each row that it writes.
constexpr absl::Duration kProgressPerRow = absl::Milliseconds(1);

// Whether the callback of a command returns at once. The callback of a report collects the changes
// that the tracker must hear of, and that of an import frees the whole import.
bool IsAnsweredAtOnce(const CommandBody& body) {
  return !std::holds_alternative<ApplyReport>(body) && !std::holds_alternative<ImportLedger>(body);
}

}  // namespace

Writer::Writer(const LedgerOptions& options, Publisher* publisher, CommandQueue* queue,
               Answerer* answerer, Health* health)
    : options_(options),
      publisher_(publisher),
      queue_(queue),
      answerer_(answerer),
      health_(health),
      roads_(options.roads),
      clock_(options.wall_clock, [publisher] { return publisher->boot_now(); }) {
  clock_.Now(publisher_->Newest()->position());
}

Writer::~Writer() { Stop(-absl::InfiniteDuration()); }

void Writer::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Writer::Stop(BootTime settle_until) {
  settle_until_ns_ = absl::ToInt64Nanoseconds(settle_until);
  stopping_ = true;
  queue_->Nudge();
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(&mutex_);
    while (!ended_ && BootNow() < settle_until) {
      ended_changed_.WaitFor(&mutex_, absl::ToChronoNanoseconds(settle_until - BootNow()));
    }
    // If the writer's thread waits for the database, Shut makes its call fail.
    if (!ended_ && database_) database_->Shut();
  }
  thread_.join();
}

void Writer::Watch() {
  const MutexLock lock(&mutex_);
  if (!database_) return;
  database_->ShutIfSlow(options_.no_progress_max + writing_rows_.load() * kProgressPerRow);
}

bool Writer::ConnectsSlowly() const {
  const int64_t since_ns = connecting_since_ns_;
  return since_ns != 0 &&
         publisher_->boot_now() - absl::Nanoseconds(since_ns) >= options_.no_progress_max;
}

// Whether the thread was told to stop, and has either settled everything or has no time left to
// settle.
bool Writer::MustEnd() const {
  if (!stopping_) return false;
  return turns_.settled() || BootNow() >= absl::Nanoseconds(settle_until_ns_.load());
}

void Writer::Run() {
  NameThread("ledger-writer");
  while (!MustEnd()) {
    absl::Status no_writes = health_->WhyNoWrites();
    if (!no_writes.ok()) {
      RefuseAll(std::move(no_writes));
      GiveUpUnsettled();
      queue_->Take(0, kIdleWaitMax);
      continue;
    }
    if (connection_ == nullptr && !Connect()) {
      RefuseAll(
          NotDone("placement has no connection to the database: nothing was done, try again"));
      Pause();
      continue;
    }
    RotateRequests();
    if (connection_ == nullptr) continue;  // the connection broke in RotateRequests
    std::vector<PendingPtr> commands = BeginTurn();
    const bool no_command = turns_.turn() == Turn::kShared && commands.empty();
    if (no_command && !LeasesWantBatch()) continue;
    RunBatch(std::move(commands));
  }
  RefuseAll(NotDone("placement is stopping: nothing was done, try again"));
  GiveUpUnsettled();
  Disconnect();
  health_->reachable = false;
  const MutexLock lock(&mutex_);
  ended_ = true;
  ended_changed_.SignalAll();
}

bool Writer::Connect() {
  connecting_since_ns_ = absl::ToInt64Nanoseconds(publisher_->boot_now());
  auto database = ConnectToPrimary(options_.database_url, "berth-placement writer");
  absl::Status status = database.status();
  if (status.ok()) status = (*database)->Run(WriterSettingsSql(), nullptr);
  connecting_since_ns_ = 0;
  health_->reachable = status.ok();
  if (!status.ok()) {
    health_->Tell(std::string(status.message()));
    return false;
  }
  const MutexLock lock(&mutex_);
  database_ = *std::move(database);
  connection_ = database_.get();
  return true;
}

void Writer::Disconnect() {
  connection_ = nullptr;
  std::shared_ptr<Database> database;
  const MutexLock lock(&mutex_);
  database.swap(database_);
}

void Writer::Step(LedgerStep step) const {
  if (options_.at_step) options_.at_step(step);
}

absl::Status Writer::Call(const std::string& sql) { return connection_->Run(sql, nullptr); }

std::vector<PendingPtr> Writer::BeginTurn() {
  const bool shared_waits = queue_->size() > 0 || LeasesWantBatch();
  switch (turns_.Begin(shared_waits)) {
    case Turn::kSettle:
      return {};
    case Turn::kAlone:
    case Turn::kLarge:
      return {turns_.TakeCommand()};
    case Turn::kShared:
      break;
  }
  return queue_->Take(options_.batch_weight_max, shared_waits ? absl::ZeroDuration() : IdleWait());
}

void Writer::RunBatch(std::vector<PendingPtr> commands) {
  NoteBegun(commands, {});
  Step(LedgerStep::kBeforeLock);
  if (ChooseRoad(commands) == Road::kShort) return TakeShortRoad(std::move(commands));
  TakeLongRoad(commands);
}

void Writer::NoteBegun(const std::vector<PendingPtr>& first, const std::vector<PendingPtr>& next) {
  std::vector<PendingPtr> begun = turns_.Begun();
  begun.insert(begun.end(), first.begin(), first.end());
  begun.insert(begun.end(), next.begin(), next.end());
  queue_->SetBegun(std::move(begun));
}

void Writer::TakeLongRoad(const std::vector<PendingPtr>& commands) {
  std::vector<RequestKey> keys;
  for (const PendingPtr& pending : commands) {
    const std::optional<RequestKey> key = KeyOf(pending->command);
    if (key) keys.push_back(*key);
  }
  const absl::Duration began = publisher_->boot_now();
  const Position known = publisher_->Newest()->position();
  const absl::StatusOr<LockedHead> locked =
      LockAndReadHead(*connection_, known.revision.number, kRowsWithLock, keys);
  if (!locked.ok()) return LockFailed(locked.status(), commands);
  Step(LedgerStep::kLocked);
  const BatchId head = locked->head ? locked->head->position.batch : BatchId();
  roads_.SawHead(head != known.batch);
  health_->followed_rows += ApplyRead(locked->missing, *publisher_);
  if (!ReachHead(locked->head)) return PutBack(commands);
  publisher_->SetFresh(began);
  const StatePtr base = publisher_->Newest();
  auto batch = std::make_unique<Batch>(base, clock_.Now(base->position()), locked->requests);
  if (base->position().batch == committed_) batch->TrustBase();
  if (turns_.turn() == Turn::kSettle && !Settle(*batch)) return;
  if (!AllowLongSilence(commands)) return PutBack(commands);
  const bool shared = turns_.turn() == Turn::kShared;
  if (shared) OfferExpiry(*batch);
  if (DecideAll(commands, true, *batch) && shared) FillUp(*batch);
  turns_.Decided(batch->row_count() > options_.batch_rows_max);
  if (batch->writes() || batch->compares()) return Write(std::move(batch));
  const absl::Status ended = Call("ROLLBACK");
  AnswerAll(*batch);
  if (ended.ok()) {
    BatchSucceeded();
  } else {
    Disconnect();
  }
}

bool Writer::ReachHead(const std::optional<LogRow>& head) {
  const Position wanted = head ? head->position : Position();
  while (true) {
    const StatePtr newest = publisher_->Newest();
    const Position& position = newest->position();
    if (position.revision == wanted.revision && position.batch == wanted.batch) {
      if (wanted.format <= kLogFormat) return true;
      health_->format_too_new = true;
      (void)Call("ROLLBACK");
      return false;
    }
    const absl::StatusOr<CatchUpStep> step = CatchUp(*connection_, *publisher_, kCatchUpRows);
    if (step.ok()) health_->followed_rows += step->applied;
    if (step.ok() && (step->end == CaughtUp::kAll || step->end == CaughtUp::kSome)) continue;
    StopBehindHead(step, wanted);
    return false;
  }
}

void Writer::StopBehindHead(const absl::StatusOr<CatchUpStep>& step, const Position& head) {
  if (step.ok() && step->end == CaughtUp::kWentBack) {
    const Revision known = publisher_->Newest()->position().revision;
    health_->SetDatabaseRevision(step->head);
    health_->RequireRecovery(absl::StrCat(
        "the database went back in time: this process has revision ", known.number, " of epoch ",
        known.epoch, ", the database ", head.revision.number, " of epoch ", head.revision.epoch));
  }
  if (step.ok() && step->end == CaughtUp::kTooNew) health_->format_too_new = true;
  if (!step.ok()) health_->Tell(std::string(step.status().message()));
  if (step.status().code() == absl::StatusCode::kDataLoss) health_->writing_stopped = true;
  if (!Call("ROLLBACK").ok()) {
    Disconnect();
  } else if (step.ok() && step->end == CaughtUp::kReload) {
    Reload();
  }
  if (!step.ok()) Pause();
}

bool Writer::AllowLongSilence(const std::vector<PendingPtr>& commands) {
  const bool large = std::any_of(commands.begin(), commands.end(), [this](const auto& pending) {
    return MayDecide(*pending) && IsLarge(pending->command, options_.batch_rows_max);
  });
  if (!large || Call(LargeBatchSql()).ok()) return true;
  Disconnect();
  return false;
}

bool Writer::MayDecide(const Pending& pending) const {
  return turns_.turn() != Turn::kShared || !IsLarge(pending.command, options_.batch_rows_max);
}

absl::Status Writer::WhyNotDecide(const Pending& pending, BootTime now) const {
  if (pending.losses < kLossesMax) return WhyNotBegin(pending, now);
  return NotDone(
      "the connection to the database broke twice during this write: nothing was done, try again");
}

Batch::Verdict Writer::Offer(const PendingPtr& pending, bool first, bool others_wait,
                             Batch& batch) {
  if (!MayDecide(*pending)) return Batch::Verdict::kTooBig;
  const Batch::Verdict verdict =
      batch.Offer(pending, options_.batch_rows_max, first && turns_.MayBeLarge(others_wait));
  // If the batch is full before its first command, then the release of leases has filled it. Leases
  // may end all the time and fill the next shared batch, too, so the command gets a batch of its
  // own.
  return first && verdict == Batch::Verdict::kFull ? Batch::Verdict::kTooBig : verdict;
}

bool Writer::DecideAll(const std::vector<PendingPtr>& commands, bool first, Batch& batch) {
  const BootTime now = BootNow();
  const absl::Duration until = publisher_->boot_now() + options_.batch_deciding_max;
  int64_t facts_bytes = 0;
  std::vector<PendingPtr> rest;
  for (size_t i = 0; i < commands.size(); ++i) {
    const PendingPtr& pending = commands[i];
    absl::Status why = WhyNotDecide(*pending, now);
    if (!why.ok()) {
      Refuse({pending}, std::move(why));
      continue;
    }
    const bool full = batch.row_count() >= options_.batch_rows_max ||
                      facts_bytes >= options_.batch_facts_bytes_max ||
                      publisher_->boot_now() > until;
    const bool others_wait = i + 1 < commands.size() || queue_->size() > 0;
    const Batch::Verdict verdict =
        !first && full ? Batch::Verdict::kFull : Offer(pending, first, others_wait, batch);
    first = false;
    if (verdict == Batch::Verdict::kFull) {
      rest.insert(rest.end(), commands.begin() + static_cast<int64_t>(i), commands.end());
      break;
    }
    facts_bytes += FactsBytes(pending->command);
    if (verdict != Batch::Verdict::kTooBig) continue;
    BERTH_CHECK(turns_.turn() == Turn::kShared);  // in another turn nothing is too big
    if (!turns_.AddLarge(pending)) rest.push_back(pending);
  }
  PutBack(rest);
  return rest.empty();
}

void Writer::Write(std::unique_ptr<Batch> batch) {
  const bool writes = batch->writes();
  if (writes) batch->Close();
  const Statement sql = batch->compares() ? batch->SqlIfUnmoved(options_.log_rows_kept)
                                          : batch->Sql(options_.log_rows_kept);
  if (writes) publisher_->BeginCommit(batch->id());
  Step(LedgerStep::kBeforeWrite);
  const absl::Duration began = publisher_->boot_now();
  writing_rows_ = batch->row_count();
  QueryRows rows;
  const absl::Status status = connection_->RunAndCommit(sql, &rows);
  writing_rows_ = 0;
  if (status.ok() && rows.size() == 1) {
    if (writes) return Committed(*batch, began);
    BatchSucceeded();
    return AnswerAll(*batch);
  }
  if (writes) publisher_->EndCommit(batch->id());
  const bool lost = status.code() == absl::StatusCode::kUnavailable;
  if (status.ok() || (lost && !writes)) return NotWritten(status, *batch);
  if (!lost) return Refused(status, *batch);
  Lost(std::move(batch), status);
}

void Writer::Committed(Batch& batch, absl::Duration began) {
  PublishCommitted(batch, began);
  AnswerCommitted(batch);
}

void Writer::PublishCommitted(Batch& batch, absl::Duration began) {
  BatchSucceeded();
  committed_ = batch.id();
  Step(LedgerStep::kCommitted);
  publisher_->Publish(*batch.base(), batch.next(), batch.log());
  publisher_->EndCommit(batch.id());
  publisher_->SetFresh(began);
  ++health_->batches;
}

void Writer::AnswerCommitted(Batch& batch) {
  for (const std::unique_ptr<Batch>& proven : turns_.TakeProven()) AnswerAll(*proven);
  AnswerAll(batch);
  Step(LedgerStep::kPublished);
}

void Writer::AnswerAll(Batch& batch) {
  health_->commands += batch.command_count();
  health_->Add(batch.tally());
  std::vector<Answer> answers = batch.TakeAnswers();
  bool here = batch.command_count() <= kAnswersHere && queue_->size() == 0;
  for (const PendingPtr& pending : here ? batch.Commands() : std::vector<PendingPtr>()) {
    here = here && IsAnsweredAtOnce(pending->command.body);
  }
  if (here) {
    answerer_->Give(std::move(answers));
  } else {
    answerer_->Post(std::move(answers));
  }
}

int64_t Writer::HourOf(absl::Time ledger_time) { return absl::ToUnixSeconds(ledger_time) / 3600; }

void Writer::RotateRequests() {
  const absl::Time now = clock_.Now(publisher_->Newest()->position());
  const int64_t hour = HourOf(now);
  if (hour == rotated_hour_) return;
  // Set even if the call below fails: the old request ids are then dropped with those of the next
  // hour.
  rotated_hour_ = hour;
  QueryRows rows;
  const absl::Status status = connection_->Run(
      absl::StrCat("BEGIN; SELECT pg_advisory_xact_lock(", kLedgerLock,
                   "); SELECT rotate_requests(", absl::ToUnixMicros(now), ", ",
                   absl::ToInt64Hours(absl::Ceil(options_.requests_kept, absl::Hours(1))),
                   "); COMMIT"),
      &rows);
  const absl::string_view undone = status.ok() ? rows.Text(0, 0) : status.message();
  if (undone.empty()) return;
  health_->Tell(absl::StrCat(
      "the kept request ids could not be rotated; the next attempt is in an hour: ", undone));
  if (status.ok()) return;
  if (status.code() == absl::StatusCode::kUnavailable || !Call("ROLLBACK").ok()) Disconnect();
}

}  // namespace berth::placement
