// Roads: chooses how the writer's next batch goes to the database.
//
//   long    the writer takes the lock, decides the batch, then writes it: two round trips
//   short   the writer decides the batch first. One message takes the lock, compares the head of
//           the log with the state that the batch was decided on, and writes the batch if they are
//           the same: one round trip
//
// If the comparison fails, the batch was decided in vain. So the short road is chosen only if no
// other process has written lately. Roads has no thread and no database. It belongs to the writer's
// thread.
#ifndef BERTH_PLACEMENT_WRITER_ROADS_H_
#define BERTH_PLACEMENT_WRITER_ROADS_H_

#include <utility>

#include "placement/publish/options.h"

namespace berth::placement {

enum class Road { kLong, kShort };

// After another process has written, this many batches take the long road.
inline constexpr int kLongBatches = 8;

class Roads {
 public:
  explicit Roads(LedgerRoads allowed) : allowed_(allowed) {}

  // The road of the next batch. `wrote_last`: this process wrote the newest published batch.
  // `looks_up`: a command asks what became of a request id. The short road would find that the id
  // is kept, and write nothing.
  Road Next(bool wrote_last, bool looks_up);
  // To be called when a batch has seen the head of the log under the lock. `moved`: the head was
  // not the newest published batch.
  void SawHead(bool moved);
  // To be called when a batch on the short road was not sent: the next batch takes the long road,
  // which finds out why.
  void Failed() { failed_ = true; }
  // To be called when PostgreSQL has not written a batch of either road: the next batch takes the
  // long road, and does not fill up.
  void NotWritten() { failed_ = not_written_ = true; }
  // Whether a batch on the long road may decide commands whose kept answers it has not read. To be
  // called once for each such batch.
  bool MayFillUp() { return !std::exchange(not_written_, false); }

 private:
  const LedgerRoads allowed_;
  int long_batches_left_ = 0;
  bool failed_ = false;
  bool not_written_ = false;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_ROADS_H_
