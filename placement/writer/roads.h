// Roads: chooses how the writer's next batch goes to the database.
//
//   long    the writer takes the lock, decides the batch, then writes it: at least two round trips
//   short   the writer decides the batch first. One message takes the lock, compares, and writes
//           the batch if the comparison succeeds: mostly one round trip. The comparison succeeds
//           if the newest log row is that of the state that the batch was decided on, and if no
//           answer is kept under the request ids of the batch's commands.
//
// If the comparison fails, the batch was decided in vain. So, except with kShortFirst, the short
// road is chosen only if no other process seems to have written lately. Roads has no thread and no
// database. It belongs to the writer's thread.
#ifndef BERTH_PLACEMENT_WRITER_ROADS_H_
#define BERTH_PLACEMENT_WRITER_ROADS_H_

#include <utility>

#include "placement/publish/options.h"

namespace berth::placement {

enum class Road { kLong, kShort };

// After SawHead(true), at least this many batches take the long road. Exception: kShortFirst.
inline constexpr int kLongBatches = 8;

class Roads {
 public:
  explicit Roads(LedgerRoads allowed) : allowed_(allowed) {}

  // The road of the next batch. To be called once for each batch that may take either road.
  // `wrote_last`: this process wrote the newest published batch. `looks_up`: a command of the batch
  // is a FindRequest, for whose answer the long road looks in the table of request ids.
  Road Next(bool wrote_last, bool looks_up);
  // To be called when a batch on the long road has read the newest log row under the lock.
  // `moved`: another row was the newest published one before the lock was asked for. Also to be
  // called, with false, when a batch on the short road took effect.
  void SawHead(bool moved);
  // Makes the next call of Next return kLong. To be called when a batch on the short road was not
  // sent because one of its commands could not begin.
  void Failed() { failed_ = true; }
  // Makes the next call of Next return kLong, and the next call of MayFillUp return false. To be
  // called when PostgreSQL has not written a batch of either road.
  void NotWritten() { failed_ = not_written_ = true; }
  // Whether a batch on the long road may decide commands whose kept answers it has not read
  // (LongRoad::FillUp). To be called once for each such batch.
  bool MayFillUp() { return !std::exchange(not_written_, false); }

 private:
  const LedgerRoads allowed_;
  int long_batches_left_ = 0;
  bool failed_ = false;
  bool not_written_ = false;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_ROADS_H_
