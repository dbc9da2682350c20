// Turns: decides which batch the writer makes next, and keeps the commands and batches that must
// not go back to the command queue.
//
// The writer makes one batch after the other. Each batch is a turn of one of four kinds:
//
//   settle   contains no command; its log row proves that earlier batches are durable
//   alone    contains one command: an earlier batch with this command failed
//   large    contains one command, for which a shared batch has too little room
//   shared   first releases the leases that have ended, then decides commands of the queue
//
// The first line that applies gives the next turn ("shared work": the queue has commands, or a
// lease has ended):
//
//   a batch is unsettled                                                settle
//   the last batch was alone or large, and shared work waits            shared
//   a command waits to be decided alone                                 alone
//   a large command waits                                               large
//   none of these                                                       shared
//
// A batch is unsettled if its outcome is unknown, or if its log row was found and is not proven
// durable. The methods below report events. A command lost kLossesMax times is not decided again.
//
//   event       what happened                       what follows
//   Lost        the connection broke at its commit  outcome unknown; each command has one more loss
//   Found       its row was found in the log        the batch waits for proof that it is durable
//   Missing     the log does not have its row       outcome unknown until the next event
//   TakeProven  this process committed a batch      all batches that waited for proof are settled;
//                                                   the commands of a missing batch are to be
//                                                   decided alone
//
// A missing batch is not given up before the batch of the settle turn is committed, because its
// message may still be on the way to PostgreSQL or wait for the lock there. The committed row makes
// the comparison in that message fail (lock_ledger_at). If the settle turn's own batch is lost, it
// is forgotten, because it has no commands; the next turn settles again.
//
// Invariants, checked in every build:
//   1. While a batch is unsettled, every turn is a settle turn: no new command is decided.
//   2. Shared work waits for one alone or large batch at most. Therefore two large batches never
//      follow each other while shared work waits, and leases end in time.
//   3. The outcome of one batch at most is unknown.
//   4. Every command that waits to be decided alone was in a batch before. Such a command never
//      goes back to the queue.
//
// Turns has no thread and no database. It belongs to the writer's thread.
#ifndef BERTH_PLACEMENT_WRITER_TURNS_H_
#define BERTH_PLACEMENT_WRITER_TURNS_H_

#include <deque>
#include <memory>
#include <vector>

#include "placement/writer/batch.h"
#include "placement/writer/command_queue.h"

namespace berth::placement {

enum class Turn { kSettle, kAlone, kLarge, kShared };

// The kind of the last batch that decided commands.
enum class LastBatch { kShared, kAlone, kLarge };

// The kinds of work that wait when the next turn is chosen.
struct TurnsWaiting {
  bool unsettled = false;  // a batch is unsettled
  bool shared = false;     // commands in the queue, or leases that have ended
  bool alone = false;      // commands that must be decided alone
  bool large = false;      // a large command
};

// The next turn, by the table in the comment at the top of this file.
Turn NextTurn(LastBatch last, const TurnsWaiting& waiting);

// A command whose batch was lost this many times is refused instead of decided again, because the
// write of this command may be the cause that breaks the connection.
inline constexpr int kLossesMax = 2;

class Turns {
 public:
  // Begins the next turn. `shared_waits`: the queue has commands, or a lease has ended.
  Turn Begin(bool shared_waits);
  Turn turn() const { return turn_; }
  // The command of an alone or large turn. To be called once in such a turn.
  PendingPtr TakeCommand();
  // Whether the batch of this turn may touch more rows than a shared batch may. `others_wait`:
  // there is another command, in this batch or in the queue.
  bool MayBeLarge(bool others_wait) const;
  // To be called when the batch of this turn has decided its commands. `large`: the batch touches
  // more rows than a shared batch may.
  void Decided(bool large);

  // Appends `pending` to the commands that must be decided alone. REQUIRES: `pending` was in a
  // batch before.
  void AddAlone(PendingPtr pending);
  // Notes that `pending`, a large command, waits for a batch of its own. Returns false, and does
  // nothing, if another large command waits already.
  bool AddLarge(const PendingPtr& pending);

  // To be called when the connection was lost while `batch` was committed. The batch of a settle
  // turn is forgotten.
  void Lost(std::unique_ptr<Batch> batch);
  // The batch in doubt, i.e. the batch whose outcome is unknown; null if there is none.
  const Batch* in_doubt() const { return in_doubt_.get(); }
  // To be called when the row of the batch in doubt was found in the log.
  void Found();
  // To be called when the log does not have the row of the batch in doubt.
  void Missing();
  // To be called when a batch of this process was committed. Returns the earlier batches that this
  // commit proves to be durable. If the batch in doubt is missing, its commands that were not
  // answered yet now wait to be decided alone.
  std::vector<std::unique_ptr<Batch>> TakeProven();

  // Whether a command waits for a batch of its own.
  bool OwnBatchWaits() const { return !alone_.empty() || large_ != nullptr; }
  bool unsettled() const { return in_doubt_ != nullptr || !unproven_.empty(); }
  // Whether nothing is left to do for commands that were in a batch: no batch is unsettled, and no
  // command waits to be decided alone.
  bool settled() const { return !unsettled() && alone_.empty(); }
  // The commands that are in no queue and have no answer yet: those of unsettled batches, and those
  // that wait for a batch of their own.
  std::vector<PendingPtr> Begun() const;
  // Gives up all unsettled batches and returns their commands. The outcome of these commands is
  // unknown.
  std::vector<PendingPtr> GiveUpUnsettled();
  // Gives up the large command and the commands that wait to be decided alone, and returns them.
  // None of these commands was done.
  std::vector<PendingPtr> GiveUpWaiting();

 private:
  std::vector<PendingPtr> UnsettledCommands() const;

  std::unique_ptr<Batch> in_doubt_;  // the batch of unknown outcome
  bool missing_ = false;             // in this turn the log did not have the row of in_doubt_
  std::vector<std::unique_ptr<Batch>> unproven_;  // batches whose row was found, oldest first
  std::deque<PendingPtr> alone_;
  PendingPtr large_;
  LastBatch last_ = LastBatch::kShared;
  Turn turn_ = Turn::kShared;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_TURNS_H_
