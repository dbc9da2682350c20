// Decides every write to placement, in one order, and makes it durable.
//
// Ledger owns the writing connection and the writer and answerer threads; the published state is
// its other face. Commands may be submitted from any thread and never block; each is answered
// exactly once, from the answering thread, after the commit that settled it. The loops that follow
// the log and watch the writer live in services/ and call Follow and Watchdog.
//
// Invariants, true at every published revision:
//   1. State, tables and log tell the same story.
//   2. For each provider and class, used <= capacity, except where an operator lowered the capacity
//      under claims that were already there; no command makes it worse (P-4, P-132).
//   3. Revisions are consecutive: a published state at R has applied every log row up to R and none
//      after it.
//   4. One function under one mutex publishes, state and feed together, always the newest published
//      revision plus one, whether the writer or the follower brings it; who comes second drops his
//      copy. The next batch starts from the published state.
#ifndef BERTH_PLACEMENT_LEDGER_LEDGER_H_
#define BERTH_PLACEMENT_LEDGER_LEDGER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/commands/command.h"
#include "placement/commands/decision.h"
#include "placement/ledger/epoch.h"
#include "placement/ledger/loss.h"
#include "placement/ledger/options.h"
#include "placement/state/state.h"

namespace berth::placement {

class Feed;

class Ledger {
 public:
  // Connects, checks the schema (see schema.h; an empty database is set up, a newer one refused
  // with kFailedPrecondition), loads the state and starts the threads.
  static absl::StatusOr<std::unique_ptr<Ledger>> Open(const LedgerOptions& options);
  // Stops as Stop does, settling for 5 s.
  ~Ledger();

  // Queues `command`; `done` receives its decision.
  //
  // The status is the command's own refusal, in the order its rule documents, or
  //   kUnavailable        the queue is full, the ledger is stopping, or there is no database:
  //                       nothing was done, retry later; `done` is called on this thread, before
  //                       Submit returns
  //   kFailedPrecondition RECOVERY_REQUIRED: the database went back in time, nothing was done
  //   kInvalidArgument    REQUEST_ID_REUSED: the request id came before with another body
  //   kFailedPrecondition REQUEST_CANCELLED: the request id was cancelled before (FindRequest)
  //   kDeadlineExceeded   `deadline` passed before its batch began (reason DEADLINE_BEFORE_START:
  //                       nothing was done), or after (no reason: unknown, ask by request id)
  //   kCancelled          `*cancelled` was set before its batch began: nothing was done
  //   kInternal           PostgreSQL refused it alone: nothing was done, and an operator was told
  // Anything but OK and a kDeadlineExceeded without reason means that nothing was written.
  //
  // REQUIRES: every string in `command` is valid UTF-8 without U+0000.
  void Submit(Command command, absl::Time deadline, std::shared_ptr<std::atomic<bool>> cancelled,
              absl::AnyInvocable<void(Decision)> done);

  // The newest published state; never null.
  StatePtr Newest() const;
  // The newest state, or kUnavailable (reason STALE) when the last successful poll began longer ago
  // than staleness_max.
  absl::StatusOr<StatePtr> Fresh() const;
  // Calls `ready` once with a state at `minimum` or later, or with kDeadlineExceeded (reason
  // REVISION_NOT_REACHED) when `deadline` passes first, kOutOfRange (reason EPOCH_UNKNOWN) for a
  // later epoch, kFailedPrecondition (REVISION_LOST) for one that an ended epoch lost, kUnavailable
  // when too many wait (awaits_max), the state is stale or the ledger stops. `ready` runs on this thread or on the
  // answering one and must be quick.
  void AwaitRevision(Revision minimum, absl::Time deadline,
                     absl::AnyInvocable<void(absl::StatusOr<StatePtr>)> ready);
  // The state at exactly `revision`, while it is among the last 8 published; else null.
  StatePtr Recent(Revision revision) const;

  // One step of the follower: reads the log rows after the published state, over a connection of
  // its own, and applies them. Returns how many. The caller polls every 5 ms while rows come,
  // backing off to 100 ms.
  absl::StatusOr<int> Follow();
  // One step of the watchdog: shuts the socket of a connection that makes no progress, answers what
  // is past its deadline, lets go of states that are no longer recent. Never waits; to be called from
  // another thread than Follow, which may.
  void Watchdog();

  // After RECOVERY_REQUIRED: takes the tables as they are for the truth and begins a new epoch.
  // Command numbers and catalog ids jump by 2^40 and 2^20, so that nothing of the lost future is
  // met again. kAborted where the database's head is not the expected one (two operators do not
  // start two epochs).
  absl::Status StartEpoch(const EpochStart& start);
  // What this process's last good state and the database, at its newest revision, do not agree
  // about. kFailedPrecondition where no recovery is required; else as LoadState. Blocks: it reads
  // the tables, unless it has read them at that revision already.
  absl::StatusOr<LossPtr> FindLoss();

  Feed& feed();
  LedgerHealth health() const;

  // Refuses new commands, settles those whose batch has begun until `settle_until` (what is in
  // doubt then gets kDeadlineExceeded without a reason), ends both threads. Idempotent.
  void Stop(absl::Time settle_until);

 private:
  class Impl;
  explicit Ledger(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_LEDGER_H_
