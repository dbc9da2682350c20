// Writer: the thread that takes commands from the queue in batches and chooses the road of each
// batch.
//
// Owns the thread and the parts that work for it. Any thread may call Watch and ConnectsSlowly. Any
// thread but the writer's may call Stop, but not two threads at once. Start is called once.
//
// Invariants:
//   1. Every command that the thread takes from the queue gets into a batch, waits in the turns,
//      goes back, or is answered.
//   2. The batches of settle, alone and large turns (turns.h), and all batches before the first
//      commit of this process, take the long road.
//   3. When the thread has ended, every command that it took from the queue is in kAnswered.
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
  // Lets the thread go on until no batch is unsettled and no command waits to be decided alone
  // (turns.h), or until `settle_until`: then makes the thread's call to the database fail. Waits
  // for the end of the thread, longer if it is connecting then. At its end the thread refuses all
  // commands that wait (Intake::RefuseAll), and answers those of unsettled batches with "outcome
  // unknown". Returns at once if no thread runs. REQUIRES: the queue is closed.
  void Stop(BootTime settle_until);
  // As in WriterConnection. While the writer connects slowly, new commands should be refused,
  // because the attempt may last much longer.
  void Watch() { connection_.Watch(); }
  bool ConnectsSlowly() const { return connection_.ConnectsSlowly(); }

 private:
  void Run();
  // Whether the thread was told to stop, and has either settled everything or has no time left to
  // settle.
  bool MustEnd() const;
  // Makes the batches of one turn. If there is nothing to do, waits LeaseEnds::IdleWait at most,
  // and makes no batch if there is still nothing. REQUIRES: the connection is open.
  void RunTurn();
  // Begins the next turn and returns the commands of the turn; none in a settle turn. Waits as
  // RunTurn says.
  std::vector<PendingPtr> BeginTurn();
  Road ChooseRoad(const std::vector<PendingPtr>& commands);

  const LedgerOptions options_;
  Mutex mutex_;
  CondVar ended_changed_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> settle_until_ns_{0};

  // From here on, only the writer's thread uses the members while it runs. Exceptions: any thread
  // may use connection_ as WriterConnection allows; Stop uses thread_ and parts_.queue.
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
