// Ledger: decides the writes that are submitted to this process, makes those that it accepts
// durable in PostgreSQL, and gives readers the newest state.
//
// Ledger owns the threads of the writer and the answerer, and connections to PostgreSQL. All
// methods may be called from any thread. Readers take published states, which never change. Ledger
// has no loop for Follow and Watchdog: its owner calls them again and again.
//
// Invariants, as long as only placement changes the database:
//   1. At each published revision, the state in memory, the tables and the log agree.
//   2. No command raises the use of an existing inventory above the capacity (P-4, P-132). A use
//      may be above the capacity for another reason, for example because the inventory became
//      smaller.
//   3. Revision numbers are consecutive: the state at revision R contains the changes of all log
//      rows up to R and of none after R.
//   4. A batch takes effect only if it was decided on the state of the newest log row. Either the
//      writer decides the batch while it holds the ledger's lock; or PostgreSQL compares, under
//      this lock, the newest log row with the row of the state on which the batch was decided
//      (roads.h).
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
#include "placement/publish/waiting_room.h"
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
  // state and starts the threads. If the database has lost the position in the file
  // (LedgerOptions::position_path), recovery is required from the start. Fails as ConnectToPrimary,
  // BringUpToDate and LoadState do; for example with kFailedPrecondition if a newer release has
  // changed the schema.
  static absl::StatusOr<std::unique_ptr<Ledger>> Open(const LedgerOptions& options);
  // Calls Stop, with a `settle_until` 5 s from now.
  ~Ledger();

  // Queues `command`, in the turn of its actor (CommandQueue); never waits for the database. Calls
  // `done` exactly once, with the decision. If Submit refuses the command, it calls `done` before
  // it returns. Else Answerer calls `done`, perhaps before Submit returns. `cancelled` may be null.
  //
  // The status of the decision is OK, or a refusal by the rule of the command (the rule documents
  // the order; for a FindRequest see command.h), or one of these:
  //   kUnavailable        Writes are refused at present, the ledger is stopping, or the connection
  //                       broke twice while the command was written.
  //   kUnavailable        OVERLOADED: the queue is full, and the command's actor has more commands
  //                       in it than others. The command was refused at once, or put out later for
  //                       the command of another actor.
  //   kFailedPrecondition RECOVERY_REQUIRED: the database went back in time.
  //   kInvalidArgument    REQUEST_ID_REUSED: the request id is kept for a command with another
  //                       body.
  //   kFailedPrecondition REQUEST_CANCELLED: the request id was cancelled before (FindRequest).
  //   kDataLoss           The answer that is kept under the request id cannot be read.
  //   kDeadlineExceeded   DEADLINE_BEFORE_START: `deadline` passed; the command was not done.
  //   kDeadlineExceeded   Without a reason: the outcome is unknown. The caller can ask by request
  //                       id (FindRequest).
  //   kCancelled          `*cancelled` was set; the command was not done.
  //   kInternal           PostgreSQL refused the write, even in a batch with this command alone. An
  //                       operator was told.
  // This call has written nothing if the status is neither OK nor kDeadlineExceeded without a
  // reason.
  //
  // REQUIRES: every string in `command` is valid UTF-8 without U+0000.
  void Submit(Command command, BootTime deadline, std::shared_ptr<std::atomic<bool>> cancelled,
              absl::AnyInvocable<void(Decision)> done);

  // The newest published state; never null.
  StatePtr Newest() const;
  // The newest published state. Fails with kUnavailable / STALE if the state may have been out of
  // date for longer than LedgerOptions::staleness_max (Publisher::staleness).
  absl::StatusOr<StatePtr> Fresh() const;
  // Calls `ready` once: with a published state at `minimum` or later, or with one of these:
  //   kOutOfRange         EPOCH_UNKNOWN: the epoch of `minimum` has not begun
  //   kFailedPrecondition REVISION_LOST: the database lost `minimum` before a new epoch began
  //   kUnavailable        the reader must wait, and the ledger stops
  //   kUnavailable        OVERLOADED: `minimum` is not reached, and this owner has its share of the
  //                       LedgerOptions::awaits_max readers who may wait. As many again wait all the
  //                       same until their turn: Watchdog refuses few of them in a step (WaitingRoom)
  //   kUnavailable        TOO_MANY_WAIT: `minimum` is not reached, and LedgerOptions::awaits_max
  //                       readers wait already
  //   kUnavailable        STALE: `minimum` is reached, but Fresh fails
  //   kCancelled          `*call.cancelled` was set while the reader waited
  //   kDeadlineExceeded   REVISION_NOT_REACHED: `deadline` passed first
  // `ready` runs on this thread or on the answering thread, and must be quick.
  void AwaitRevision(Revision minimum, BootTime deadline, ReadingCall call,
                     absl::AnyInvocable<void(absl::StatusOr<StatePtr>)> ready);
  // The state at exactly `revision`, if that state is still kept; else null. The newest 8 published
  // states are kept, but none from before the last load of the tables.
  StatePtr Recent(Revision revision) const;

  // One step of the follower: reads at most 256 log rows, applies those that the published state
  // lacks, and returns how many it applied. If the log does not show what follows the published
  // state, loads all tables instead. Sets and ends alarms (Health). Waits for the database. To be
  // repeated: every few milliseconds while rows come, else every 100 ms. Fails as ConnectToPrimary,
  // CatchUp and LoadState do, or with kFailedPrecondition if the log has too new a format.
  absl::StatusOr<int> Follow();
  // One step of the watchdog: ends calls to the database that last too long, answers commands and
  // readers that were cancelled or whose deadline has passed, and frees what is no longer needed. Of
  // many readers a step looks at 1,000, and refuses at most ten of those whose owner has more than its
  // share. Does not wait for the database. Not to be called on a thread that calls Follow, StartEpoch or
  // FindLoss, because the watchdog ends their hanging calls.
  void Watchdog();

  // Ends a required recovery: brings the schema up to date, begins a new epoch with the tables as
  // they are (BeginEpoch), and publishes its first state. Waits for the database. Fails
  // - with kFailedPrecondition / WRONG_LEDGER_STATE, if no recovery is required;
  // - as ConnectToPrimary and BringUpToDate do;
  // - as BeginEpoch does: if the database is not at the revision that the operator saw, no epoch
  //   begins. So of two operators who saw the same revision, one at most begins an epoch.
  absl::Status StartEpoch(const EpochStart& start);
  // While recovery is required: the differences between the published state, which is the last good
  // state of this process, and the database. If the database was restored while this process was
  // down, the published state is the restored one, and does not show what was lost. Fails
  // - with kFailedPrecondition / WRONG_LEDGER_STATE, if no recovery is required, or if LoadState
  //   cannot read the tables of an older release: StartEpoch brings them up to date;
  // - else as ConnectToPrimary, ReadSchemaVersion and LoadState do.
  // Waits for the database. Does not read the tables again if the newest log row is still that of
  // the last result: then returns this result.
  absl::StatusOr<LossPtr> FindLoss();
  // The last result of FindLoss, if it shows the database as this process last saw it; else null:
  // call FindLoss. Fails with kFailedPrecondition / WRONG_LEDGER_STATE if no recovery is required.
  // Does not wait for the database.
  absl::StatusOr<LossPtr> KnownLoss() const;

  // The position to write into the file (LedgerOptions::position_path): the newest one. None while
  // recovery is required because the database lost the position in the file: the file then keeps
  // this position. To be written by the caller (PositionFile) about every second and after Stop, on
  // a thread that may wait for the disk.
  std::optional<Position> PositionToKeep() const;

  Feed& feed();
  LedgerHealth health() const;

  // Refuses new commands. Waits, at most until `settle_until`, for the outcomes of the commands
  // that a batch has begun. Then the unanswered commands get kDeadlineExceeded without a reason if
  // their outcome is unknown, else kUnavailable; the waiting readers get kUnavailable. Ends the
  // calls to the database that run in Follow, StartEpoch and FindLoss, unless they connect or bring
  // the schema up to date. Ends both threads, which may take longer, for example while the writer
  // connects. Stop may be called again after it has returned, but never from a callback.
  void Stop(BootTime settle_until);

 private:
  // `lost`: the position in the file, if the database has lost it; recovery is then required. None:
  // nothing is known to be lost.
  Ledger(const LedgerOptions& options, StatePtr first, const std::optional<Position>& lost);
  // False: new commands are refused, because the writer could not connect or read, has ended, or
  // connects slowly. See Health::reachable.
  bool Reachable() const;
  // Reads the tables for FindLoss. If they cannot be read and their schema is that of an older
  // release, fails with WRONG_LEDGER_STATE and tells an operator why. Tells this once per recovery,
  // because readers call FindLoss as often as they like.
  absl::StatusOr<State> LoadAsItIs(Database& database);

  const LedgerOptions options_;
  const std::unique_ptr<Health> health_;
  const std::unique_ptr<Answerer> answerer_;
  const std::unique_ptr<Publisher> publisher_;
  const std::unique_ptr<CommandQueue> queue_;
  const std::unique_ptr<Writer> writer_;
  const std::unique_ptr<Follower> follower_;
  DatabaseWatch watch_;                       // watches the connections of StartEpoch and FindLoss
  std::atomic<bool> told_unreadable_{false};  // LoadAsItIs has told an operator, in this recovery
  Mutex loading_;  // held by FindLoss, so that one call runs at a time; taken before loss_mutex_
  mutable Mutex loss_mutex_;
  // The last result of FindLoss. Null if there is none, or if the watchdog has seen since that no
  // recovery is required.
  LossPtr loss_ ABSL_GUARDED_BY(loss_mutex_);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_LEDGER_H_
