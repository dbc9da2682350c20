// Writer: the thread that takes commands from the queue in batches and chooses the road of each
// batch.
//
// Owns the thread, and the parts that work for it: the connection, the turns, both roads and what
// settles their batches. Any thread may call Stop, Watch and ConnectsSlowly. Start is called once.
//
// Invariants:
//   1. Until Stop, every command of the queue is put into a batch, or is refused because of an alarm
//      or because there is no connection.
//   2. A batch that settles others, one with a single command of its own, and the first batch of a
//      process take the long road.
//   3. When the thread has ended, every command that it has seen is answered.
#ifndef BERTH_PLACEMENT_WRITER_WRITER_H_
#define BERTH_PLACEMENT_WRITER_WRITER_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"
#include "placement/writer/batch_ends.h"
#include "placement/writer/long_road.h"
#include "placement/writer/request_rotation.h"
#include "placement/writer/short_road.h"
#include "placement/writer/writer_parts.h"

namespace berth::placement {

class Writer {
 public:
  // The publisher, the queue, the answerer and the health must outlive the writer.
  Writer(const LedgerOptions& options, Publisher* publisher, CommandQueue* queue,
         Answerer* answerer, Health* health);
  ~Writer();

  void Start();
  // Waits until all batches are settled (turns.h), until `settle_until` at the latest. Tells the
  // callers of all other commands that nothing was done, then ends the thread. A second call does
  // nothing. REQUIRES: the queue is closed.
  void Stop(BootTime settle_until);
  // As the methods of WriterConnection. While the writer connects slowly, new commands should be
  // refused, because the attempt may last much longer.
  void Watch() { connection_.Watch(); }
  bool ConnectsSlowly() const { return connection_.ConnectsSlowly(); }

 private:
  void Run();
  // Whether the thread was told to stop, and has either settled everything or has no time left to
  // settle.
  bool MustEnd() const;
  // Makes one batch, if there is anything to do. Waits for a command before. REQUIRES: the
  // connection is open.
  void RunTurn();
  // Begins the next turn and returns the commands of the turn.
  std::vector<PendingPtr> BeginTurn();
  Road ChooseRoad(const std::vector<PendingPtr>& commands);

  const LedgerOptions options_;
  Mutex mutex_;
  CondVar ended_changed_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> settle_until_ns_{0};

  // All members from here on are used by the writer's thread alone, except the methods of the
  // connection that any thread may call.
  LedgerClock clock_;
  WriterConnection connection_;
  Turns turns_;
  Roads roads_;
  LeaseEnds leases_;
  RequestRotation rotation_;
  Intake intake_;
  const WriterParts parts_;
  BatchEnds batch_ends_;
  LongRoad long_road_;
  ShortRoad short_road_;
  std::thread thread_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_WRITER_H_
