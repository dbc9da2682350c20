// Intake: brings commands from the queue into batches, and back.
//
// Belongs to the writer's thread, like the turns.
//
// Invariants:
//   1. A command that was taken from the queue goes into a batch or into the turns, is put back, or
//      is refused, unless it has an answer already.
//   2. A command goes back to the queue only if no batch has begun it, or if its batch was
//      certainly not written and never will be.
//   3. A shared batch has no command that is known to be large (IsLarge).
#ifndef BERTH_PLACEMENT_WRITER_INTAKE_H_
#define BERTH_PLACEMENT_WRITER_INTAKE_H_

#include <vector>

#include "absl/status/status.h"
#include "placement/publish/answerer.h"
#include "placement/publish/options.h"
#include "placement/writer/batch.h"
#include "placement/writer/command_queue.h"
#include "placement/writer/turns.h"

namespace berth::placement {

class Intake {
 public:
  // All of these must outlive the intake.
  Intake(const LedgerOptions& options, CommandQueue* queue, Answerer* answerer, Turns* turns)
      : options_(options), queue_(queue), answerer_(answerer), turns_(turns) {}

  // Replaces the queue's list of begun commands (CommandQueue::SetBegun) by `first`, `next`, and
  // the commands that the turns keep (Turns::Begun).
  void NoteBegun(const std::vector<PendingPtr>& first, const std::vector<PendingPtr>& next);
  // Sets `*commands` to commands from the front of the queue, for a batch that is being decided,
  // and adds them to the list of begun commands. Does not wait. Takes commands until none is left
  // or they weigh `weight` or more. Returns false if it stops before, because the next one must not
  // be in this batch: it is a FindRequest, or `sent` keeps an answer under its request id. `sent`:
  // the batch that is being committed meanwhile; null if there is none.
  bool TakeMore(int weight, const Batch* sent, std::vector<PendingPtr>* commands);
  // Makes `batch` decide `commands` in their order, until `batch` has no room or batch_deciding_max
  // has passed. Refuses commands that were cancelled, are too late, or were lost kLossesMax times.
  // Gives the turns at most one command, too large for a shared batch. Puts the rest back, and
  // returns whether there was no rest. `first`: no command of the queue was offered to `batch`
  // before, so the first one may be large if the turn allows it (Turns::MayBeLarge).
  bool DecideAll(const std::vector<PendingPtr>& commands, bool first, Batch& batch);
  // Whether one of `commands` is known to be large (IsLarge) and may be decided in this turn.
  bool HasLarge(const std::vector<PendingPtr>& commands) const;

  // Puts those of `commands` that are in kWaiting back to the front of the queue. Those in kBegun
  // now wait to be decided alone (turns.h).
  void PutBack(const std::vector<PendingPtr>& commands);
  // Puts the unanswered commands of `batch` back to the front of the queue, as if no batch had
  // begun them, but not the writer's own ExpireLeases. To be called only if the batch was certainly
  // not written and never will be.
  void TakeBack(Batch& batch);
  // Gives each of `commands` that has no answer yet the answer `status`; but if
  // Pending::may_be_done, the answer "outcome unknown".
  void Refuse(const std::vector<PendingPtr>& commands, absl::Status status);
  // Refuses the commands in the queue and those that wait for a batch of their own (turns.h).
  void RefuseAll(absl::Status status);
  // Gives up all unsettled batches (turns.h) and answers their commands with "outcome unknown".
  void GiveUpUnsettled();

 private:
  // False if `pending` is known to be large and the turn is shared (invariant 3).
  bool MayDecide(const Pending& pending) const;
  // Offers `pending` to `batch`. Returns kTooBig if `pending` must get a batch of its own. `first`:
  // as in DecideAll. `others_wait`: as in Turns::MayBeLarge.
  Batch::Verdict Offer(const PendingPtr& pending, bool first, bool others_wait, Batch& batch);

  const LedgerOptions& options_;
  CommandQueue* const queue_;
  Answerer* const answerer_;
  Turns* const turns_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_INTAKE_H_
