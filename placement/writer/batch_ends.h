// BatchEnds: ends batches, and decides what becomes of their commands then.
//
// Belongs to the writer's thread. What the roads (roads.h) call when a batch ends:
//
//   the batch                             methods
//   was committed                         Publish, then AnswerCommitted
//   had nothing to write                  AnswerAll; on the short road AnswerCommitted
//   was certainly not written             NotWritten or Refused
//   could not be made: no lock            LockFailed
//   was lost: the connection broke        Lost; then Settle, until a later batch is committed
//
// A batch that a road drops before it is sent does not end here.
//
// Invariants:
//   1. A command gets the decision of its batch only after the batch was committed and published,
//      or if the batch had nothing to write. Otherwise it gets a refusal or "outcome unknown".
//   2. The batch committed() is durable, and this process has published it.
//   3. The decisions of a batch that was lost and then found in the log are given only after the
//      commit of a later batch.
//   4. If PostgreSQL refuses a single command because memory and tables differ, this process tries
//      to load the tables, once for this command. If that happens to another command within a
//      minute, this process stops writing instead.
#ifndef BERTH_PLACEMENT_WRITER_BATCH_ENDS_H_
#define BERTH_PLACEMENT_WRITER_BATCH_ENDS_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "placement/writer/batch.h"
#include "placement/writer/command_queue.h"
#include "placement/writer/writer_parts.h"

namespace berth::placement {

class BatchEnds {
 public:
  explicit BatchEnds(const WriterParts& parts) : parts_(parts) {}

  // The id of the batch that Publish got last; all zero before the first call.
  BatchId committed() const { return committed_; }

  // Publishes `batch`, which was committed, and ends its commit (Publisher::EndCommit). `began`: a
  // time of the boot clock before the commit was sent.
  void Publish(Batch& batch, absl::Duration began);
  // Answers the commands of earlier batches that the commit of `batch` proves to be durable, then
  // those of `batch`. Wakes who follows the feed after that: on a busy machine the callers would else
  // wait for the followers. REQUIRES: `batch` was committed and published; or it had nothing to write,
  // and no batch is unsettled (turns.h).
  void AnswerCommitted(Batch& batch);
  // Counts the commands of `batch` (Health), and answers those that have no answer yet.
  void AnswerAll(Batch& batch);

  // Handles a batch of either road that PostgreSQL has not written and never will. `status`: why
  // not; OK means that the comparison under the lock failed. The commands go back to the queue
  // (Intake::TakeBack). The next shared batch takes the long road without LongRoad::FillUp. Closes
  // the connection if it broke. REQUIRES: no transaction is open, or the connection broke.
  void NotWritten(const absl::Status& status, Batch& batch);
  // Handles a batch of the long road that PostgreSQL refused, in the statement or in the COMMIT.
  // Nothing of `batch` took effect. Ends the transaction. If PostgreSQL takes no writes now
  // (kAborted), refuses the commands and pauses. Else a single command goes to RefusedAlone; each
  // of several commands is to be decided alone; and all writing stops if the turn is a settle turn.
  void Refused(const absl::Status& status, Batch& batch);
  // Handles a failure to get the lock or to read the newest log row. Either `commands` wait again,
  // for example because the connection broke or another process holds the lock. Or `commands` and
  // all other commands that wait are refused, and the connection is closed.
  void LockFailed(const absl::Status& status, const std::vector<PendingPtr>& commands);

  // Handles the loss of the connection while `batch` was committed: gives `batch` to Turns::Lost,
  // and closes the connection.
  void Lost(std::unique_ptr<Batch> batch, const absl::Status& status);
  // Makes `batch`, the batch of a settle turn, write a log row. Looks in the log for the batch in
  // doubt (turns.h), if there is one. Returns false if the log could not be read; the connection is
  // then closed. What was found counts only after the commit of a settle turn's batch:
  //   - If the log has the row of the batch in doubt, this commit proves that the row is on every
  //     standby that must have it.
  //   - If the log does not have the row, nothing can write it after this commit (turns.h).
  bool Settle(Batch& batch);
  // Loads the tables and gives the state to Publisher::Replace. If they cannot be loaded, tells the
  // operator, closes the connection and pauses. Does nothing without a connection.
  void Reload();

 private:
  // Handles the refusal of a batch whose only command is `pending`: either tries to load the tables
  // and has `pending` decided alone once more (invariant 4), or refuses `pending`.
  void RefusedAlone(const absl::Status& status, const PendingPtr& pending);
  // Handles a batch in doubt if the log no longer shows whether the batch was committed. Answers
  // the commands without a key (KeyOf) with "outcome unknown". The other commands stay in the
  // batch. After Turns::TakeProven they are decided again: the table of request ids then shows
  // whether they were done.
  void ForgetOutcomes(const Batch& batch);

  const WriterParts parts_;
  BatchId committed_;
  PendingPtr reloaded_for_;  // the command for which RefusedAlone loaded the tables last
  std::optional<absl::Duration> reloaded_at_;  // when it did so, on the boot clock
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_BATCH_ENDS_H_
