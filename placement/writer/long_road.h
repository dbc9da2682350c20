// LongRoad: takes the ledger's lock, decides a batch, and writes it (roads.h).
//
// Belongs to the writer's thread.
//
// Invariants:
//   1. A batch is decided on the state of the newest log row. No newer row can be written before
//      the transaction ends, because the transaction has the lock.
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

  // Takes the lock, decides the batch of this turn (turns.h), writes it, and ends it (BatchEnds).
  // `commands`: the commands of the turn. If there can be no batch, they wait again or are refused.
  // REQUIRES: the connection is open, and `commands` are in the queue's list of begun commands.
  void Take(const std::vector<PendingPtr>& commands);

 private:
  // Applies the log rows after the published state, `head` included. Returns false if no batch can
  // be made; the transaction is over then. `head`: the newest log row; none if the log is empty.
  bool ReachHead(const std::optional<LogRow>& head);
  // Handles `step`, a result of CatchUp after which no batch can be made. Ends the transaction, and
  // sets the alarm (Health) that `step` calls for, if any. If the log does not show what follows
  // the published state (kReload), loads the tables. If CatchUp failed, tells the operator and
  // pauses. `head`: the position of the newest log row.
  void StopBehindHead(const absl::StatusOr<CatchUpStep>& step, const Position& head);
  // Makes `batch` decide `commands`. In a shared turn LeaseEnds::Offer comes before, and, if none
  // of `commands` was put back, FillUp afterwards.
  void Decide(const std::vector<PendingPtr>& commands, Batch& batch);
  // Makes `batch` decide commands that are in the queue by now, as far as `batch` has room. Their
  // request ids are compared when `batch` is written (Batch::CompareNext). Decides none if the log
  // is empty, because this comparison would fail, and none if !Roads::MayFillUp().
  void FillUp(Batch& batch);
  // Writes the batch in the open transaction and commits, or only compares its request ids if there
  // is nothing to write. Then ends the batch (BatchEnds).
  void Write(std::unique_ptr<Batch> batch);

  const WriterParts parts_;
  BatchEnds* const batch_ends_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_LONG_ROAD_H_
