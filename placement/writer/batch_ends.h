// BatchEnds: what follows from the end of a batch, and what becomes of its commands.
//
// Belongs to the writer's thread. The roads call one method for each batch that has ended:
//
//   the batch                             method
//   was committed                         Publish, then AnswerCommitted
//   had nothing to write                  AnswerAll
//   was certainly not written             NotWritten, Refused, LockFailed
//   was lost: the connection broke        Lost; Settle, in the next batches, until AnswerCommitted
//
// Invariants:
//   1. A command is answered after its batch was committed and published, or had nothing to write;
//      when it is certain that the command was not done; or with "outcome unknown".
//   2. committed() was published by this process, and nothing of it can be lost.
//   3. The answers of a batch that was lost and found are given after the commit of a later batch.
//   4. If memory and tables disagree a second time within a minute, nothing is written any more.
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

  // The newest batch that this process has committed; all zero if there is none.
  BatchId committed() const { return committed_; }

  // Publishes `batch`, which was committed, and ends its commit. `began`: a time of the boot clock
  // before the commit was sent.
  void Publish(Batch& batch, absl::Duration began);
  // Answers the commands of `batch`, after those of earlier batches that its commit proves to be
  // durable. REQUIRES: `batch` was committed and published.
  void AnswerCommitted(Batch& batch);
  void AnswerAll(Batch& batch);

  // Handles a batch of either road that PostgreSQL has not written and never will. `status`: OK if
  // the comparison under the lock failed. No transaction is open. The commands go back to the
  // queue. The next shared batch takes the long road, which finds out why and refuses what must be
  // refused, and does not fill up.
  void NotWritten(const absl::Status& status, Batch& batch);
  // Handles the refusal by PostgreSQL of the statement that writes `batch`, in a transaction that
  // is still open. Nothing took effect.
  void Refused(const absl::Status& status, Batch& batch);
  // Handles a failure to get the lock or to read the newest log row. Nothing was written.
  void LockFailed(const absl::Status& status, const std::vector<PendingPtr>& commands);

  // Handles the loss of the connection while `batch` was committed.
  void Lost(std::unique_ptr<Batch> batch, const absl::Status& status);
  // Makes `batch`, which has no command, write a row, and looks in the log for the batch in doubt.
  // Returns false if the log could not be read. The result counts only after the commit of `batch`:
  //   - If the log has the row of the batch in doubt, only this commit proves that the row is on
  //     every standby that must have it.
  //   - If the log does not have the row, the message of the batch in doubt may still be on the way
  //     or wait for the lock. Only this commit makes sure that the message writes nothing any more.
  bool Settle(Batch& batch);
  // Loads the tables and publishes them. Does nothing without a connection.
  void Reload();

 private:
  void RefusedAlone(const absl::Status& status, const PendingPtr& pending);
  // Handles a batch if the log no longer shows whether the batch was committed. A command with a
  // request id is decided again, because the table of request ids shows whether the command was
  // done. The outcome of the other commands stays unknown.
  void ForgetOutcomes(const Batch& batch);

  const WriterParts parts_;
  BatchId committed_;
  PendingPtr reloaded_for_;  // the command that was refused before the last reload
  std::optional<absl::Duration> reloaded_at_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_BATCH_ENDS_H_
