// Intake: brings commands from the queue into batches, and back.
//
// Belongs to the writer's thread, like the turns.
//
// Invariants:
//   1. A command that was taken from the queue goes into a batch or into the turns, is put back, or
//      is refused.
//   2. A command goes back to the queue only if no batch has begun it, or if its batch was certainly
//      not written. Else it is decided alone.
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

  // Replaces the queue's list of begun commands by the commands of `first`, those of `next`, and
  // those that the turns keep.
  void NoteBegun(const std::vector<PendingPtr>& first, const std::vector<PendingPtr>& next);
  // Takes commands of this `weight` from the queue, for a batch that is being decided, without
  // waiting. `sent`: the batch before, if it is being committed, else null. Returns false if the
  // next command of the queue must not be in this batch.
  bool TakeMore(int weight, const Batch* sent, std::vector<PendingPtr>* commands);
  // Offers `commands` to `batch`. Puts back those that the batch has no room for, and returns
  // whether there are none. Refuses those that were cancelled or are too late. `first`: no other
  // command of the queue was offered to the batch, so the first of `commands` may be large if the
  // turn allows it.
  bool DecideAll(const std::vector<PendingPtr>& commands, bool first, Batch& batch);
  // Whether the batch of this turn may decide one of `commands` that is known to be large.
  bool HasLarge(const std::vector<PendingPtr>& commands) const;

  // Puts back to the front of the queue those of `commands` that no batch has begun to decide. The
  // others now wait to be decided alone.
  void PutBack(const std::vector<PendingPtr>& commands);
  // Puts the commands of `batch` back to the front of the queue, as if no batch had begun them. To
  // be called only if the batch was certainly not written and never will be.
  void TakeBack(Batch& batch);
  void Refuse(const std::vector<PendingPtr>& commands, absl::Status status);
  // Refuses every command that certainly was not done: the commands in the queue, and the commands
  // that wait for a batch of their own.
  void RefuseAll(absl::Status status);
  // Gives up all unsettled batches: the outcome of their commands stays unknown.
  void GiveUpUnsettled();

 private:
  // Whether the batch of this turn may decide `pending`.
  bool MayDecide(const Pending& pending) const;
  Batch::Verdict Offer(const PendingPtr& pending, bool first, bool others_wait, Batch& batch);

  const LedgerOptions& options_;
  CommandQueue* const queue_;
  Answerer* const answerer_;
  Turns* const turns_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_INTAKE_H_
