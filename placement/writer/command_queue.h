// CommandQueue: the commands that wait for a batch, and those of the batch that is being made.
//
// The number of waiting commands is limited. Thread-safe. Two threads may answer a command: the
// writer when the outcome is known, and the watchdog when the command's deadline passes. Only the
// thread that moves the command to kAnswered answers it; the other thread does nothing.
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
#include "placement/ground/mutex.h"
#include "placement/publish/answerer.h"

namespace berth::placement {

// A command that was submitted and not answered yet.
struct Pending {
  enum class Phase { kWaiting, kBegun, kAnswered };

  Command command;
  BootTime deadline = absl::InfiniteDuration();
  std::shared_ptr<std::atomic<bool>> cancelled;  // may be null
  absl::AnyInvocable<void(Decision)> done;       // belongs to the thread that moved it to kAnswered
  std::atomic<Phase> phase{Phase::kWaiting};
  int losses = 0;  // how many of its batches had an unknown outcome; used by the writer alone
  // Its batch may have taken effect, and only deciding it again tells. Used by the writer alone.
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

// How much work `command` is for a batch: the number of consumers that it claims or sets, at least
// 1. A message that claims for 64 consumers is as much work as 64 claims for one.
int WeightOf(const Command& command);

// OK, or the refusal of a command that was cancelled or whose deadline is not after `now`.
absl::Status WhyNotBegin(const Pending& pending, BootTime now);

class CommandQueue {
 public:
  explicit CommandQueue(int commands_max);
  ~CommandQueue();
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;

  // Appends `pending`. Returns false, and appends nothing, if the queue is full or closed.
  bool Push(const PendingPtr& pending);
  // Puts back commands that Take returned and that no batch has begun to decide. They go to the
  // front of the queue, even if the queue is full or closed.
  void PutBack(const std::vector<PendingPtr>& pendings);
  // Removes commands from the front, until their weights sum to `weight_max` or more, and returns
  // them. If the queue is empty, waits at most `wait` for the first command. Close and Nudge end
  // the wait early.
  std::vector<PendingPtr> Take(int weight_max, absl::Duration wait);
  std::vector<PendingPtr> TakeAll();
  // Waits for `pause`, even if commands come. Nudge ends the wait early.
  void Rest(absl::Duration pause);
  // Ends one wait of Take or Rest: the present one, or the next one if none runs.
  void Nudge();
  // Makes Push refuse every command from now on.
  void Close();

  int64_t size() const;

  // For a thread that waits for the queue and for something else at once. Returns whether the
  // commands that wait weigh `weight`. If not, event() can be read as soon as they do, or after
  // Nudge, until Take is called. For the thread that calls Take.
  bool Arm(int64_t weight);
  // The file descriptor of the queue's event.
  int event() const { return event_; }

  // Replaces the list of begun commands, i.e. those in the present batch or waiting for a batch of
  // their own. Expire checks the deadlines of these commands, too.
  void SetBegun(std::vector<PendingPtr> pendings);
  void AddBegun(const std::vector<PendingPtr>& pendings);
  // Returns the answers to all commands whose deadline is not after `now`, and to waiting commands
  // that were cancelled. A waiting command leaves the queue, and its answer says that nothing was
  // done. A begun command stays with the writer, and its answer is "outcome unknown".
  std::vector<Answer> Expire(BootTime now);

 private:
  void Signal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int commands_max_;
  const int event_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<PendingPtr> waiting_ ABSL_GUARDED_BY(mutex_);
  int64_t weight_ ABSL_GUARDED_BY(mutex_) = 0;  // of the commands that wait
  std::vector<PendingPtr> begun_ ABSL_GUARDED_BY(mutex_);
  int64_t armed_ ABSL_GUARDED_BY(mutex_) = 0;  // the weight that Arm was called with; 0: not armed
  bool signalled_ ABSL_GUARDED_BY(mutex_) = false;  // event_ can be read
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool nudged_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_COMMAND_QUEUE_H_
