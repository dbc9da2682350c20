#include "placement/writer/command_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "placement/ground/boot_clock.h"
#include "placement/ground/check.h"
#include "placement/values/refusal.h"

namespace berth::placement {

int WeightOf(const Command& command) {
  size_t consumers = 1;
  if (const auto* claims = std::get_if<PlaceClaims>(&command.body)) {
    consumers = claims->members.size();
  } else if (const auto* set = std::get_if<SetAllocations>(&command.body)) {
    consumers = set->consumers.size();
  }
  return std::max(static_cast<int>(consumers), 1);
}

absl::Status WhyNotBegin(const Pending& pending, BootTime now) {
  if (pending.cancelled && *pending.cancelled) {
    return absl::CancelledError("the call was cancelled before the write began: nothing was done");
  }
  if (pending.deadline > now) return absl::OkStatus();
  return Refuse(absl::StatusCode::kDeadlineExceeded, "DEADLINE_BEFORE_START",
                "the deadline passed before the write began: nothing was done");
}

bool Pending::Begin() {
  Phase expected = Phase::kWaiting;
  return phase.compare_exchange_strong(expected, Phase::kBegun) || expected == Phase::kBegun;
}

void Pending::Return() {
  Phase begun = Phase::kBegun;
  phase.compare_exchange_strong(begun, Phase::kWaiting);
}

namespace {

Flow FlowOf(const Pending& pending) {
  const Command& command = pending.command;
  if (std::holds_alternative<ImportLedger>(command.body)) {
    return {command.actor, Priority::kBulk, pending.weight};
  }
  if (!command.session_owner.empty()) {
    return {command.session_owner, Priority::kSessions, pending.weight};
  }
  const absl::string_view actor = command.actor;
  return {actor == kProcessActor ? absl::string_view() : actor, Priority::kFirst, pending.weight};
}

Answer AnswerTo(Pending* pending, Decision decision) {
  const Flow flow = FlowOf(*pending);
  return {std::move(pending->done), std::move(decision), std::string(flow.owner), flow.priority};
}

}  // namespace

std::optional<Answer> Pending::Settle(Decision decision) {
  if (phase.exchange(Phase::kAnswered) == Phase::kAnswered) return std::nullopt;
  return AnswerTo(this, std::move(decision));
}

CommandQueue::CommandQueue(int commands_max)
    : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), waiting_(commands_max, kQuantum) {
  BERTH_CHECK(event_ >= 0);  // made when the process starts
}

CommandQueue::~CommandQueue() { close(event_); }

void CommandQueue::Signal() {
  armed_ = 0;
  signalled_ = true;
  (void)eventfd_write(event_, 1);
}

bool CommandQueue::Arm(int64_t weight) {
  const MutexLock lock(&mutex_);
  if (std::exchange(signalled_, false)) {
    eventfd_t ignored = 0;
    (void)eventfd_read(event_, &ignored);
  }
  const bool enough = weight_ >= weight;
  armed_ = enough ? 0 : weight;
  return enough;
}

CommandQueue::Pushed CommandQueue::Push(const PendingPtr& pending, PendingPtr* put_out) {
  const MutexLock lock(&mutex_);
  if (closed_) return Pushed::kClosed;
  const bool was_empty = IsEmpty();
  const Flow flow = FlowOf(*pending);
  auto pushed = waiting_.Push(flow, PendingPtr(pending));
  if (!pushed.taken) return Pushed::kFull;
  NoteCaller(flow);
  weight_ += pending->weight;
  if (pushed.put_out) {
    weight_ -= (*pushed.put_out)->weight;
    *put_out = *std::move(pushed.put_out);
  }
  if (armed_ > 0) {
    if (weight_ >= armed_) Signal();
  } else if (was_empty) {
    changed_.Signal();
  }
  return Pushed::kTaken;
}

void CommandQueue::NoteCaller(const Flow& flow) {
  if (flow.priority != Priority::kFirst || flow.owner.empty()) return;
  if (waiting_.heaviest(Priority::kFirst) >= kSharedWeightMax) flooded_ = BootNow();
  if (flow.owner == last_caller_) return;
  if (!last_caller_.empty()) caller_changed_ = BootNow();
  last_caller_ = std::string(flow.owner);
}

int CommandQueue::RoomIn(int taken, int weight_max, BootTime now) const {
  const MutexLock lock(&mutex_);
  const bool is_shared = now - std::min(caller_changed_, flooded_) < kSharedFor;
  const int most = is_shared ? std::min(weight_max, kSharedWeightMax) : weight_max;
  return std::max(most - taken, 0);
}

bool CommandQueue::IsEmpty() const { return returned_.empty() && waiting_.empty(); }

void CommandQueue::PutBack(const std::vector<PendingPtr>& pendings) {
  if (pendings.empty()) return;
  const MutexLock lock(&mutex_);
  returned_.insert(returned_.begin(), pendings.begin(), pendings.end());
  for (const PendingPtr& pending : pendings) weight_ += pending->weight;
  changed_.Signal();
}

std::vector<PendingPtr> CommandQueue::Take(int weight_max, absl::Duration wait) {
  BERTH_CHECK(weight_max >= 0);  // an option, or the room that is left in a batch
  const MutexLock lock(&mutex_);
  armed_ = 0;
  if (IsEmpty() && !closed_ && !nudged_) {
    changed_.WaitFor(&mutex_, absl::ToChronoNanoseconds(wait));
  }
  nudged_ = false;
  std::vector<PendingPtr> taken;
  for (int64_t weight = 0; weight < weight_max && !IsEmpty();) {
    taken.push_back(TakeNext());
    weight += taken.back()->weight;
  }
  return taken;
}

PendingPtr CommandQueue::TakeNext() {
  PendingPtr next;
  if (!returned_.empty()) {
    next = std::move(returned_.front());
    returned_.pop_front();
  } else if (std::optional<PendingPtr> waiting = waiting_.Pop()) {
    next = *std::move(waiting);
  }
  if (next != nullptr) weight_ -= next->weight;
  return next;
}

void CommandQueue::Rest(absl::Duration pause) {
  const BootTime until = BootNow() + pause;
  const MutexLock lock(&mutex_);
  while (!nudged_ && BootNow() < until) {
    changed_.WaitFor(&mutex_, absl::ToChronoNanoseconds(until - BootNow()));
  }
  nudged_ = false;
}

std::vector<PendingPtr> CommandQueue::TakeAll() {
  const MutexLock lock(&mutex_);
  std::vector<PendingPtr> taken;
  while (PendingPtr next = TakeNext()) taken.push_back(std::move(next));
  return taken;
}

void CommandQueue::Nudge() {
  const MutexLock lock(&mutex_);
  nudged_ = true;
  changed_.Signal();
  if (armed_ > 0) Signal();
}

void CommandQueue::Close() {
  const MutexLock lock(&mutex_);
  closed_ = true;
  changed_.Signal();
}

int64_t CommandQueue::size() const {
  const MutexLock lock(&mutex_);
  return static_cast<int64_t>(returned_.size()) + waiting_.size();
}

void CommandQueue::SetBegun(std::vector<PendingPtr> pendings) {
  // Exchanged instead of assigned, so that the commands of the last batch are freed after the lock
  // is released.
  const MutexLock lock(&mutex_);
  begun_.swap(pendings);
}

void CommandQueue::AddBegun(const std::vector<PendingPtr>& pendings) {
  const MutexLock lock(&mutex_);
  begun_.insert(begun_.end(), pendings.begin(), pendings.end());
}

std::vector<Answer> CommandQueue::Expire(BootTime now) {
  std::vector<Answer> answers;
  int64_t left = 0;
  const MutexLock lock(&mutex_);
  const auto leaves = [&](const PendingPtr& pending) {
    absl::Status why = WhyNotBegin(*pending, now);
    if (why.ok()) return false;
    std::optional<Answer> answer = pending->Settle(OnlyStatus(std::move(why)));
    if (answer) answers.push_back(*std::move(answer));
    left += pending->weight;
    return true;
  };
  returned_.erase(std::remove_if(returned_.begin(), returned_.end(), leaves), returned_.end());
  waiting_.RemoveIf(leaves);
  weight_ -= left;
  for (const PendingPtr& pending : begun_) {
    if (pending->deadline > now) continue;
    // The writer has taken the command, but no batch has begun to decide it. So nothing was done,
    // and from now on Begin refuses the command.
    Pending::Phase waiting = Pending::Phase::kWaiting;
    if (pending->phase.compare_exchange_strong(waiting, Pending::Phase::kAnswered)) {
      answers.push_back(AnswerTo(pending.get(), OnlyStatus(WhyNotBegin(*pending, now))));
      continue;
    }
    std::optional<Answer> answer = pending->Settle(OnlyStatus(OutcomeUnknown()));
    if (answer) answers.push_back(*std::move(answer));
  }
  return answers;
}

}  // namespace berth::placement
