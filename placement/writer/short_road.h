// ShortRoad: sends batches that are decided before the lock is taken, mostly in one round trip
// each, and decides the next batch meanwhile. See roads.h.
//
// A message may reach PostgreSQL late, for example after this process has given up the connection.
// If any other batch was written meanwhile, the comparison in the message fails, and the message
// writes nothing. Belongs to the writer's thread.
//
// Invariants:
//   1. The road waits for the outcome of one message at most. The state on which the message's
//      batch was decided is published.
//   2. Meanwhile one more batch may be decided, on the state that the first one will make. It is
//      sent only after the first one took effect. If the first one fails, the second is dropped;
//      its commands, none of which has begun, go back to the queue.
//   3. If a batch writes, it is published before the next one is sent.
//   4. A batch that took effect is answered when the next one is on its way, or when none is sent.
//      Exception: if the next message must be prepared first, the batch is answered before.
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
  // All of these must outlive the road. `*stopping`: the process ends (MayDecideAhead).
  ShortRoad(const WriterParts& parts, BatchEnds* batch_ends, const RequestRotation* rotation,
            const std::atomic<bool>* stopping)
      : parts_(parts), batch_ends_(batch_ends), rotation_(rotation), stopping_(stopping) {}

  // Sends a batch that releases ended leases and decides `commands`, then the batches that were
  // decided ahead, one after the other. Returns when there is no next batch, or when a batch did
  // not take effect. The commands of a batch that was not sent go back to the queue. REQUIRES: the
  // connection is open, the turn is shared, and `commands` are in the queue's list of begun
  // commands.
  void Take(std::vector<PendingPtr> commands);

 private:
  // Begins the commands of `batch` and sends the batch. Returns false if nothing was sent; the
  // commands are back in the queue then. `*before`: the batch before, which took effect and is not
  // answered yet; may be null. If the message must be prepared in a round trip of its own, answers
  // `*before` first and sets it to null.
  bool Send(Batch& batch, std::unique_ptr<Batch>* before);
  // Waits for the outcome of `batch`, which was sent. Returns true if `batch` took effect; it is
  // then published, if it writes. Else `batch` was not written or its outcome is unknown, and
  // BatchEnds handles it; the commands of `ahead`, which may be null, go back to the queue.
  bool Receive(std::unique_ptr<Batch>& batch, std::unique_ptr<Batch>& ahead);
  // Decides commands of the queue on the state that `sent` will make. Ends soon after the outcome
  // of `sent` can be received, or when no more may be decided; in the second case makes the text of
  // the new batch's message. Returns the new batch, which may have no command; null: there is none.
  std::unique_ptr<Batch> DecideAhead(const Batch& sent);
  // How much weight `batch`, which may be null, still takes.
  int RoomIn(const Batch* batch) const;
  // Whether a batch may be decided before the outcome of `sent` is known. False if `sent` touches
  // more than batch_rows_max rows, or if one of these must come next: a batch for leases, a command
  // that waits for a batch of its own, the rotation of request ids, the end of the process.
  bool MayDecideAhead(const Batch& sent);
  // Makes `*ahead` decide some commands of the queue; makes the batch first if it is null, unless a
  // lease has ended. Returns whether more may be decided before the outcome of `sent` is known.
  bool AddAhead(const Batch& sent, std::unique_ptr<Batch>* ahead);

  const WriterParts parts_;
  BatchEnds* const batch_ends_;
  const RequestRotation* const rotation_;
  const std::atomic<bool>* const stopping_;
  absl::Duration sent_at_;  // just before the last message was sent, on the boot clock
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_SHORT_ROAD_H_
