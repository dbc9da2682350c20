// LongRoad: decides a batch under the ledger's lock, and writes it, in two round trips (roads.h).
//
// Belongs to the writer's thread.
//
// Invariants:
//   1. A batch is decided on the state of the newest log row, which nobody can change before the
//      transaction ends, because this process has the lock.
//   2. No transaction is open before and after Take.
#ifndef BERTH_PLACEMENT_WRITER_LONG_ROAD_H_
#define BERTH_PLACEMENT_WRITER_LONG_ROAD_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "placement/publish/catch_up.h"
#include "placement/store/rows.h"
#include "placement/writer/batch.h"
#include "placement/writer/batch_ends.h"
#include "placement/writer/writer_parts.h"

namespace berth::placement {

class LongRoad {
 public:
  // `batch_ends` must outlive the road.
  LongRoad(const WriterParts& parts, BatchEnds* batch_ends)
      : parts_(parts), batch_ends_(batch_ends) {}

  // Takes the lock, makes the batch of this turn with `commands`, writes it, and settles it.
  // REQUIRES: the connection is open, and `commands` are in the queue's list of begun commands.
  void Take(const std::vector<PendingPtr>& commands);

 private:
  // Applies the log rows after the published state, `head` included, while the ledger's lock is
  // held. Returns false if the batch cannot go on; the transaction is over then.
  bool ReachHead(const std::optional<LogRow>& head);
  // Handles the result `step` of CatchUp if the batch cannot go on after it: reports it to the
  // operator, ends the transaction, and loads the tables if that helps.
  void StopBehindHead(const absl::StatusOr<CatchUpStep>& step, const Position& head);
  // Makes `batch` decide `commands` and what else belongs to this turn.
  void Decide(const std::vector<PendingPtr>& commands, Batch& batch);
  // Decides the commands that have come during the wait for the lock, as far as `batch` has room
  // for them. Decides none if the batch before was not written, because another failed comparison
  // would have its commands decided once more.
  void FillUp(Batch& batch);
  // Writes the batch in the open transaction and commits. If the batch has nothing to write,
  // compares its request ids.
  void Write(std::unique_ptr<Batch> batch);

  const WriterParts parts_;
  BatchEnds* const batch_ends_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_LONG_ROAD_H_
