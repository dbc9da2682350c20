// Turns: decides which batch the writer makes next, and keeps the unsettled batches and the
// commands that wait for a batch of their own.
//
// The writer makes one batch after the other, in turns of four kinds:
//
//   settle   one batch without a command; its log row settles unsettled batches
//   alone    one batch with one command: an earlier batch with this command failed
//   large    one batch with one command, for which a shared batch has too little room
//   shared   a batch that first releases ended leases, then decides commands of the queue; on the
//            short road (short_road.h) more batches with commands of the queue may follow
//
// The first line that applies gives the next turn ("shared work": the queue has commands, or leases
// need a batch by LeaseEnds::WantBatch; "the last batch": see LastBatch):
//
//   a batch is unsettled                                                settle
//   the last batch was alone or large, and shared work waits            shared
//   a command waits to be decided alone                                 alone
//   a large command waits                                               large
//   none of these                                                       shared
//
// A batch is unsettled if its outcome is unknown ("in doubt"), or if its log row was found but is
// not proven to be durable. These methods report what happened to a batch:
//
//   method      what happened                       what follows
//   Lost        the connection broke at its commit  in doubt; each command has one more loss
//   Found       its row was found in the log        the batch waits for proof that it is durable
//   Missing     the log does not have its row       still in doubt, until TakeProven in this turn
//   TakeProven  this process committed a batch      all batches that waited for proof are settled;
//                                                   the commands of a missing batch are to be
//                                                   decided alone
//
// A missing batch is settled only when the batch of a settle turn is committed, because the message
// of the missing batch may still be on the way to PostgreSQL or wait for the lock there. The
// committed row makes the comparison in that message fail (lock_ledger_at). If the batch of a
// settle turn is lost itself, that batch is forgotten, and the next turn settles again.
//
// Invariants, checked in every build:
//   1. While a batch is unsettled, only settle turns begin, so no command is decided.
//   2. If the last batch was alone or large, and shared work waits, the next turn is neither alone
//      nor large.
//   3. One batch at most is in doubt.
//   4. A command that waits to be decided alone was begun by a batch before, so it is not in
//      kWaiting.
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

// The kind of the last batch for which Decided was called outside a settle turn. kLarge: the batch
// of a large turn, or a batch of another turn that touched more than batch_rows_max rows.
enum class LastBatch { kShared, kAlone, kLarge };

// The kinds of work that wait when the next turn is chosen.
struct TurnsWaiting {
  bool unsettled = false;  // a batch is unsettled
  bool shared = false;     // shared work: see the comment at the top of this file
  bool alone = false;      // commands that must be decided alone
  bool large = false;      // a large command
};

// The next turn, by the table in the comment at the top of this file.
Turn NextTurn(LastBatch last, const TurnsWaiting& waiting);

// A command whose batches were lost this many times is not decided again, because the write of this
// command may be what breaks the connection.
inline constexpr int kLossesMax = 2;

class Turns {
 public:
  // Begins the next turn and returns its kind. `shared_waits`: whether shared work waits.
  Turn Begin(bool shared_waits);
  Turn turn() const { return turn_; }
  // Removes and returns the command of an alone or large turn. To be called once in such a turn.
  PendingPtr TakeCommand();
  // Whether the first command of this turn's batch may touch more than batch_rows_max rows. False
  // only in a shared turn, if the last batch was large and `others_wait`, i.e. if there are more
  // commands in the turn or in the queue.
  bool MayBeLarge(bool others_wait) const;
  // To be called when a batch of this turn has decided its commands, but on the short road only
  // when the batch took effect or is empty. `large`: it touches more than batch_rows_max rows.
  void Decided(bool large);

  // Appends `pending` to the commands that must be decided alone. REQUIRES: `pending` is not in
  // kWaiting.
  void AddAlone(PendingPtr pending);
  // Notes that `pending`, a large command, waits for a batch of its own. Returns false, and does
  // nothing, if another large command waits already.
  bool AddLarge(const PendingPtr& pending);

  // To be called when the connection was lost while `batch` was committed. `batch` is then in
  // doubt. Exception: the batch of a settle turn is forgotten, because it has no command.
  void Lost(std::unique_ptr<Batch> batch);
  // The batch in doubt, i.e. the batch whose outcome is unknown; null if there is none.
  const Batch* in_doubt() const { return in_doubt_.get(); }
  // To be called in a settle turn when the row of the batch in doubt was found in the log.
  void Found();
  // To be called in a settle turn when the log does not have the row of the batch in doubt.
  void Missing();
  // To be called when a batch of this process was committed; does nothing if none is unsettled.
  // Returns the earlier batches that the commit proves to be durable. If Missing was called in this
  // turn, ends the doubt: unanswered commands of the batch in doubt now wait to be decided alone.
  std::vector<std::unique_ptr<Batch>> TakeProven();

  // Whether a command waits for a batch of its own.
  bool OwnBatchWaits() const { return !alone_.empty() || large_ != nullptr; }
  bool unsettled() const { return in_doubt_ != nullptr || !unproven_.empty(); }
  // Whether no batch is unsettled and no command waits to be decided alone.
  bool settled() const { return !unsettled() && alone_.empty(); }
  // The commands of unsettled batches, and the commands that wait for a batch of their own. Some
  // may have an answer already.
  std::vector<PendingPtr> Begun() const;
  // Gives up all unsettled batches and returns their commands, whose outcome stays unknown.
  std::vector<PendingPtr> GiveUpUnsettled();
  // Gives up the large command and the commands that wait to be decided alone, and returns them.
  std::vector<PendingPtr> GiveUpWaiting();

 private:
  std::vector<PendingPtr> UnsettledCommands() const;

  std::unique_ptr<Batch> in_doubt_;
  bool missing_ = false;                          // Missing was called in this turn
  std::vector<std::unique_ptr<Batch>> unproven_;  // batches whose row was found, oldest first
  std::deque<PendingPtr> alone_;
  PendingPtr large_;
  LastBatch last_ = LastBatch::kShared;
  Turn turn_ = Turn::kShared;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_TURNS_H_
