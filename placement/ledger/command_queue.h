// CommandQueue: commands on their way to a batch, and those that a batch has begun with.
//
// Bounded. Thread-safe. Each command is answered by whoever moves it to kAnswered: the writer when
// it is settled, or the watchdog when its deadline passes; the other one then keeps silent.
#ifndef BERTH_PLACEMENT_LEDGER_COMMAND_QUEUE_H_
#define BERTH_PLACEMENT_LEDGER_COMMAND_QUEUE_H_

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
#include "placement/ground/mutex.h"
#include "placement/ledger/answerer.h"

namespace berth::placement {

struct Pending {
  enum class Phase { kWaiting, kBegun, kAnswered };

  Command command;
  absl::Time deadline;
  std::shared_ptr<std::atomic<bool>> cancelled;  // may be null
  absl::AnyInvocable<void(Decision)> done;       // belongs to whoever moved it to kAnswered
  std::atomic<Phase> phase{Phase::kWaiting};

  // Whether a batch may decide it: moves it from kWaiting to kBegun, or finds it begun already.
  bool Begin();
  // Moves it to kAnswered and returns its answer; nothing where it was answered before.
  std::optional<Answer> Settle(Decision decision);
};
using PendingPtr = std::shared_ptr<Pending>;

// Why `pending` may not begin at `now`: it was cancelled, or its deadline has passed; else OK.
absl::Status WhyNotBegin(const Pending& pending, absl::Time now);

class CommandQueue {
 public:
  explicit CommandQueue(int commands_max) : commands_max_(commands_max) {}

  // Appends. False where the queue is full or closed.
  bool Push(const PendingPtr& pending);
  // Puts back what was taken and not begun, in front, whatever the bound.
  void PutBack(const std::vector<PendingPtr>& pendings);
  // Up to `commands_max` commands, waiting for the first one for `wait` at the most. Returns at once
  // when the queue is closed or nudged.
  std::vector<PendingPtr> Take(int commands_max, absl::Duration wait);
  std::vector<PendingPtr> TakeAll();
  // Waits for `pause`, whatever comes, or until nudged.
  void Rest(absl::Duration pause);
  // Ends one wait of Take or Rest.
  void Nudge();
  // Nothing comes in any more.
  void Close();

  int64_t size() const;

  // The commands of the batch in flight, which the watchdog watches too.
  void SetBegun(std::vector<PendingPtr> pendings);
  // Answers for everything whose deadline is before `now` or that was cancelled: waiting commands
  // leave the queue, begun ones stay with the writer, their outcome unknown.
  std::vector<Answer> Expire(absl::Time now);

 private:
  const int commands_max_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<PendingPtr> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<PendingPtr> begun_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool nudged_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_COMMAND_QUEUE_H_
