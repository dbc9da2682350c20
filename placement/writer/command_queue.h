// CommandQueue: the commands that wait for a batch, and a list of those that the writer has taken.
//
// Actors take turns (FairQueue) of kQuantum consumers each (WeightOf), so that none of them can keep
// the others waiting, neither by many commands nor by large ones. Commands from the sessions of
// trackers come after those of other callers and of the process itself, and imports come last. So
// the commands of one actor are taken in the order in which they came, but for sessions and imports,
// and those of different actors in no order that anybody may rely on.
// Commands that are put back come first, in their order.
//
// Thread-safe. Two threads may answer a queued command: the writer's, and one that calls Expire.
// Only the thread that moves the command to kAnswered answers it; the other one does nothing.
#ifndef BERTH_PLACEMENT_WRITER_COMMAND_QUEUE_H_
#define BERTH_PLACEMENT_WRITER_COMMAND_QUEUE_H_

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "placement/commands/command.h"
#include "placement/commands/decision.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/fair_queue.h"
#include "placement/ground/mutex.h"
#include "placement/publish/answerer.h"

namespace berth::placement {

// A command that was submitted.
struct Pending {
  // kWaiting: certainly not done. kBegun: perhaps done, because a batch has begun the command.
  // kAnswered: the thread that set this phase gives the answer or hands it to the Answerer.
  enum class Phase { kWaiting, kBegun, kAnswered };

  Command command;
  BootTime deadline = absl::InfiniteDuration();
  std::shared_ptr<std::atomic<bool>> cancelled;  // true: the call was cancelled; may be null
  absl::AnyInvocable<void(Decision)> done;  // gets the answer; belongs to whoever set kAnswered
  std::atomic<Phase> phase{Phase::kWaiting};
  int losses = 0;  // how many of its batches were lost (turns.h); used by the writer's thread alone
  // A lost batch of the command may have taken effect, and the log no longer tells. Only deciding
  // the command again does. Used by the writer's thread alone.
  bool may_be_done = false;
  int weight = 1;  // see WeightOf

  // Moves the command from kWaiting to kBegun. Returns true if it is in kBegun now, even if it was
  // before the call; false if the command was answered already.
  bool Begin();
  // Moves the command from kBegun back to kWaiting, if it is in kBegun. To be called only if the
  // command was certainly not done and the batch that began it will never be written.
  void Return();
  // Moves the command to kAnswered and returns the answer, which the caller must give. Returns
  // nothing if the command was answered already.
  std::optional<Answer> Settle(Decision decision);
};
using PendingPtr = std::shared_ptr<Pending>;

// How much work `command` is for a batch: the number of members of a PlaceClaims, or of consumers
// of a SetAllocations, but at least 1; for any other command 1.
int WeightOf(const Command& command);

// OK, or the refusal of a command that was cancelled or whose deadline is not after `now`.
absl::Status WhyNotBegin(const Pending& pending, BootTime now);

class CommandQueue {
 public:
  static constexpr int kQuantum = 16;
  // While one caller floods and others write, too, a batch takes no more commands when it weighs so
  // much. A batch waits for the one before it, and a command that comes meanwhile for both, so larger
  // batches, which commit more commands in a second, would keep a caller with few commands waiting.
  // A caller floods if so much of his waits.
  static constexpr int kSharedWeightMax = 48;
  // How long a flood counts, and a change of the caller.
  static constexpr absl::Duration kSharedFor = absl::Seconds(10);

  // The queue has room for `commands_max` commands of sessions, as many imports, as many commands of
  // the process itself (kProcessActor), and as many others.
  explicit CommandQueue(int commands_max);
  ~CommandQueue();
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;

  enum class Pushed { kTaken, kFull, kClosed };

  // Adds `pending`, unless the queue is closed, or has no room for it and the actor has too many
  // such commands in it (FairQueue). If the command of another actor must leave the full queue for
  // it, sets `*put_out` to that command, which is in kWaiting: the caller answers it. Else does not
  // change `*put_out`. Commands that were put back do not count.
  [[nodiscard]] Pushed Push(const PendingPtr& pending, PendingPtr* put_out);
  // Puts `pendings` back to the front of the queue, in their order, even if the queue is full or
  // closed. REQUIRES: none of them is in kBegun.
  void PutBack(const std::vector<PendingPtr>& pendings);
  // Removes commands from the front, until none is left or their weights sum to `weight_max` or
  // more, and returns them. If the queue is empty, waits at most `wait` for the first command.
  // Close and Nudge end the wait early.
  std::vector<PendingPtr> Take(int weight_max, absl::Duration wait);
  std::vector<PendingPtr> TakeAll();
  // Waits for `pause`, even if commands come. Nudge ends the wait early.
  void Rest(absl::Duration pause);
  // Ends the wait of the call of Take or Rest that runs, or of the next such call if none runs.
  void Nudge();
  // Makes Push refuse every command from now on.
  void Close();

  int64_t size() const;
  // How much weight a batch of the weight `taken` still takes: until `weight_max`, or until
  // kSharedWeightMax if that is less, one caller floods and others write, too.
  int RoomIn(int taken, int weight_max, BootTime now) const;

  // For the thread that calls Take, if it waits for the queue and for something else at once.
  // Returns whether the waiting commands weigh `weight` or more. If not, event() becomes readable
  // when Push has made them weigh so much or Nudge is called, unless Take is called before. Each
  // call of Arm first makes event() unreadable.
  bool Arm(int64_t weight);
  // A file descriptor to poll: see Arm.
  int event() const { return event_; }

  // Replaces the list of begun commands: those that the writer has taken, and whose deadlines
  // Expire watches, too. Some of them may be in kWaiting.
  void SetBegun(std::vector<PendingPtr> pendings);
  // Appends to the list of begun commands.
  void AddBegun(const std::vector<PendingPtr>& pendings);
  // Moves commands to kAnswered and returns their answers, which the caller must give. These are
  // all commands in the queue or in the list of begun commands whose deadline is not after `now`,
  // and the commands in the queue that were cancelled. The answer to a command in kBegun is
  // "outcome unknown", to any other command the refusal of WhyNotBegin. Answered commands leave the
  // queue.
  std::vector<Answer> Expire(BootTime now);

 private:
  void Signal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteCaller(const Flow& flow) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsEmpty() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the next command and returns it; null if there is none.
  PendingPtr TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int event_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<PendingPtr> returned_ ABSL_GUARDED_BY(mutex_);  // those that were put back
  FairQueue<PendingPtr> waiting_ ABSL_GUARDED_BY(mutex_);    // the others
  int64_t weight_ ABSL_GUARDED_BY(mutex_) = 0;               // of the commands that wait
  std::string last_caller_ ABSL_GUARDED_BY(mutex_);          // of a call; not of a session
  BootTime caller_changed_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  BootTime flooded_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  std::vector<PendingPtr> begun_ ABSL_GUARDED_BY(mutex_);
  int64_t armed_ ABSL_GUARDED_BY(mutex_) = 0;  // the weight that Arm was called with; 0: not armed
  bool signalled_ ABSL_GUARDED_BY(mutex_) = false;  // event_ can be read
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool nudged_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_COMMAND_QUEUE_H_
