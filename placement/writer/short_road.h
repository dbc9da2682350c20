// ShortRoad: sends batches that are decided before the lock is taken, in one round trip each
// (roads.h), and decides the next batch meanwhile.
//
// A batch is decided on the newest published state. Its message takes the lock, compares the newest
// log row and the request ids, and writes the batch. So the message may reach PostgreSQL late, for
// example after this process has given up the connection: it then writes nothing, if any other
// batch was written meanwhile. Belongs to the writer's thread.
//
// Invariants:
//   1. One message at most is on its way. Its batch was decided on the newest published state.
//   2. While it is on its way, one more batch may be decided on the state that its commit will
//      make. That batch is sent after the commit has succeeded. Else it is dropped: none of its
//      commands has begun, and all go back to the queue.
//   3. A batch is published before the next one is sent. It is answered when the next one is on its
//      way, or when there is no next one.
#ifndef BERTH_PLACEMENT_WRITER_SHORT_ROAD_H_
#define BERTH_PLACEMENT_WRITER_SHORT_ROAD_H_

#include <atomic>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "placement/writer/batch.h"
#include "placement/writer/batch_ends.h"
#include "placement/writer/request_rotation.h"
#include "placement/writer/writer_parts.h"

namespace berth::placement {

class ShortRoad {
 public:
  // All of these must outlive the road. `*stopping`: whether the process stops; no batch is decided
  // ahead then.
  ShortRoad(const WriterParts& parts, BatchEnds* batch_ends, const RequestRotation* rotation,
            const std::atomic<bool>* stopping)
      : parts_(parts), batch_ends_(batch_ends), rotation_(rotation), stopping_(stopping) {}

  // Decides `commands` and sends the batch, then those that were decided ahead. If a batch was not
  // written, its commands go back to the queue, and the next batch takes the long road. REQUIRES:
  // the connection is open, the turn is shared, and `commands` are in the queue's list of begun
  // commands.
  void Take(std::vector<PendingPtr> commands);

 private:
  // Begins the commands of `batch` and sends the batch. Returns false if nothing was sent; the
  // commands are back in the queue then. `*before`: the batch before, which is committed, or null.
  // Answers the batch before, and sets `*before` to null, if the message needs a round trip of
  // preparation.
  bool Send(Batch& batch, std::unique_ptr<Batch>* before);
  // Waits for the outcome of `batch`, which was sent. Returns whether it took effect.
  // If it did not, its commands and those of `ahead`, which may be null, are taken care of.
  bool Receive(std::unique_ptr<Batch>& batch, std::unique_ptr<Batch>& ahead);
  // Decides commands of the queue on the state that `sent` will make, until the outcome of `sent`
  // can be received. Returns null if nothing was decided. If the batch can take no more before
  // that, the text of its message is made meanwhile, too.
  std::unique_ptr<Batch> DecideAhead(const Batch& sent);
  // Large batches, batches of one command, leases, the rotation of request ids and the end of the
  // process wait until no batch is under way.
  bool MayDecideAhead(const Batch& sent);
  // Decides some commands of the queue, after those that `*ahead` has already. Returns false if the
  // batch can take no more.
  bool AddAhead(const Batch& sent, std::unique_ptr<Batch>* ahead);

  const WriterParts parts_;
  BatchEnds* const batch_ends_;
  const RequestRotation* const rotation_;
  const std::atomic<bool>* const stopping_;
  absl::Duration sent_at_;  // when the last message was sent, on the boot clock
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_SHORT_ROAD_H_
