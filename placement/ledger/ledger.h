// Ledger: decides every write to placement, in one order, and makes the write durable in
// PostgreSQL.
//
// Ledger owns the threads of the writer and the answerer, and the connections to PostgreSQL. All
// methods may be called from any thread. Submit never blocks: each command is answered exactly
// once, from the answering thread or the writer's, after the commit of the command's batch. Answers
// are given one at a time. Readers take published states, which never change. Ledger has no loop
// for Follow and Watchdog: services/ calls them again and again.
//
// Invariants, true at every published revision:
//   1. The state in memory, the tables and the log agree.
//   2. For each provider and class, used <= capacity. The only exception: an operator lowered the
//      capacity below the use. No command raises the use of such a class (P-4, P-132).
//   3. Revisions are consecutive: the state at revision R contains the changes of all log rows up
//      to R and of none after R.
//   4. A batch takes effect only if it was decided on the state of the newest log row. The writer
//      decides it while it holds the ledger's lock, or PostgreSQL compares the two rows under the
//      lock (roads.h).
#ifndef BERTH_PLACEMENT_LEDGER_LEDGER_H_
#define BERTH_PLACEMENT_LEDGER_LEDGER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/commands/command.h"
#include "placement/commands/decision.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/epoch.h"
#include "placement/ledger/loss.h"
#include "placement/publish/health.h"
#include "placement/publish/options.h"
#include "placement/state/state.h"
#include "placement/store/database_watch.h"

namespace berth::placement {

class Answerer;
class CommandQueue;
class Feed;
class Follower;
class Publisher;
class Writer;

class Ledger {
 public:
  // Connects to the database, applies the steps of the schema that the database lacks, loads the
  // state and starts the threads. A database whose schema is newer than this release is refused
  // with kFailedPrecondition (schema.h).
  static absl::StatusOr<std::unique_ptr<Ledger>> Open(const LedgerOptions& options);
  // Calls Stop, which waits at most 5 s for the outcomes of begun commands.
  ~Ledger();

  // Queues `command`. `done` receives the decision about the command.
  //
  // The status of the decision is OK, or a refusal by the command's rule (the rule documents their
  // order), or one of these:
  //   kUnavailable        Nothing was done, retry later: the queue is full, the ledger is stopping,
  //                       there is no database, or the connection broke twice while the command was
  //                       written. In the first three cases `done` is called on this thread, before
  //                       Submit returns.
  //   kFailedPrecondition RECOVERY_REQUIRED: the database went back in time. Nothing was done.
  //   kInvalidArgument    REQUEST_ID_REUSED: the request id was used before with another body.
  //   kFailedPrecondition REQUEST_CANCELLED: the request id was cancelled before (FindRequest).
  //   kDeadlineExceeded   DEADLINE_BEFORE_START: `deadline` passed before a batch began with the
  //                       command. Nothing was done.
  //   kDeadlineExceeded   Without a reason: the outcome is unknown, because `deadline` passed later
  //                       or the log no longer tells the outcome. The caller can ask by request id.
  //   kCancelled          `*cancelled` was set before a batch began with the command. Nothing was
  //                       done.
  //   kInternal           PostgreSQL refused the write, even in a batch with this command alone.
  //                       Nothing was done, and an operator was told.
  // Nothing was written if the status is neither OK nor kDeadlineExceeded without a reason.
  //
  // REQUIRES: every string in `command` is valid UTF-8 without U+0000.
  void Submit(Command command, BootTime deadline, std::shared_ptr<std::atomic<bool>> cancelled,
              absl::AnyInvocable<void(Decision)> done);

  // The newest published state; never null.
  StatePtr Newest() const;
  // The newest published state. Fails with kUnavailable (reason STALE) if the last successful poll
  // or commit began longer ago than LedgerOptions::staleness_max.
  absl::StatusOr<StatePtr> Fresh() const;
  // Calls `ready` once, with a state at `minimum` or later, or with
  //   kOutOfRange         EPOCH_UNKNOWN: the epoch of `minimum` has not begun
  //   kFailedPrecondition REVISION_LOST: the database lost `minimum` before a new epoch began
  //   kUnavailable        TOO_MANY_WAIT: LedgerOptions::awaits_max readers wait already
  //   kUnavailable        the state is stale, or the ledger stops
  //   kDeadlineExceeded   REVISION_NOT_REACHED: `deadline` passed first
  // `ready` runs on this thread or on the answering thread, and must be quick.
  void AwaitRevision(Revision minimum, BootTime deadline,
                     absl::AnyInvocable<void(absl::StatusOr<StatePtr>)> ready);
  // The state at exactly `revision` if it is one of the last 8 published states; else null.
  StatePtr Recent(Revision revision) const;

  // One step of the follower: reads the log rows after the published state, applies them, and
  // returns their number. The caller repeats the step: every 2 ms while rows come, else less often,
  // down to every 100 ms.
  absl::StatusOr<int> Follow();
  // One step of the watchdog: shuts a connection that makes no progress, answers commands and
  // readers whose deadline has passed, and frees states that are no longer recent. Never waits.
  // Must run on another thread than Follow, because Follow may wait for the database.
  void Watchdog();

  // After RECOVERY_REQUIRED: begins a new epoch with the tables as they are. The counter of
  // commands rises by 2^40 and the catalog's next ids by 2^20, so that no number from the lost part
  // of the log is used again. Fails
  // - with kFailedPrecondition, if no recovery is required;
  // - with kAborted, if the newest revision of the database is not the expected one, so that two
  //   operators cannot begin two epochs;
  // - else as BeginEpoch does.
  absl::Status StartEpoch(const EpochStart& start);
  // After RECOVERY_REQUIRED: the differences between the last good state of this process and the
  // newest revision of the database. Changes nothing in the database. Fails
  // - with kFailedPrecondition / WRONG_LEDGER_STATE, if no recovery is required, or if the tables
  //   are those of an older release and cannot be read: StartEpoch brings them up to date;
  // - else as LoadState does.
  // Blocks while it reads the tables. A second call at the same revision returns the result of the
  // first call.
  absl::StatusOr<LossPtr> FindLoss();
  // The result of the last FindLoss, if that was at the newest revision of the database that this
  // process knows of; it asks the database every 100 ms. Null: only FindLoss can tell. Fails with
  // kFailedPrecondition / WRONG_LEDGER_STATE if no recovery is required. Never waits.
  absl::StatusOr<LossPtr> KnownLoss() const;

  // The newest position, for the file that the options name. None while a position is known to be
  // lost, so that the file keeps the lost position. The caller writes it (PositionFile) every
  // second and after Stop, on a thread that may wait for the disk.
  std::optional<Position> PositionToKeep() const;

  Feed& feed();
  LedgerHealth health() const;

  // Refuses new commands, waits until `settle_until` at most for the outcomes of the commands that
  // a batch has begun to decide, and ends both threads. A command whose outcome is then still
  // unknown gets kDeadlineExceeded without a reason. A second call does nothing.
  void Stop(BootTime settle_until);

 private:
  // `lost`: a position that the database has lost; an operator must then act. None: nothing is
  // lost.
  Ledger(const LedgerOptions& options, StatePtr first, const std::optional<Position>& lost);
  // Whether the writer can reach the database, so that new commands may be queued.
  bool Reachable() const;
  // Reads the tables for FindLoss. If they are those of an older release and cannot be read, tells
  // an operator why, once per recovery, because readers call FindLoss as often as they like.
  absl::StatusOr<State> LoadAsItIs(Database& database);

  const LedgerOptions options_;
  const std::unique_ptr<Health> health_;
  const std::unique_ptr<Answerer> answerer_;
  const std::unique_ptr<Publisher> publisher_;
  const std::unique_ptr<CommandQueue> queue_;
  const std::unique_ptr<Writer> writer_;
  const std::unique_ptr<Follower> follower_;
  DatabaseWatch watch_;                       // watches the connections of StartEpoch and FindLoss
  std::atomic<bool> told_unreadable_{false};  // an operator knows why LoadAsItIs fails
  Mutex loading_;  // held by FindLoss: one call compares at a time; taken before loss_mutex_
  mutable Mutex loss_mutex_;
  // The last result of FindLoss. Empty again when no recovery is required.
  LossPtr loss_ ABSL_GUARDED_BY(loss_mutex_);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_LEDGER_H_
