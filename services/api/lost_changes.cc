#include "services/api/lost_changes.h"

#include <utility>

#include "placement/values/refusal.h"

namespace berth::services {

using placement::LossPtr;
using placement::MutexLock;

namespace {

constexpr absl::Duration kLossRetry = absl::Seconds(1);

absl::Status TooManyAsk() {
  return placement::Refuse(absl::StatusCode::kUnavailable, "OVERLOADED",
                           "too many calls wait for the list of lost changes: try again later", {},
                           kLossRetry);
}

}  // namespace

void LostChanges::Find(const Answer& answer) {
  const absl::StatusOr<LossPtr> known = ledger_->KnownLoss();
  if (!known.ok() || *known != nullptr) return answer(known);
  bool waits = false;
  bool begins = false;
  {
    MutexLock lock(&mutex_);
    waits = waiting_.size() < kWaitingMax;
    if (waits) waiting_.push_back(answer);
    if (waits) begins = !std::exchange(running_, true);
  }
  if (!waits) return answer(TooManyAsk());
  if (!begins || worker_->Submit([this] { Run(); })) return;
  for (const Answer& refused : TakeWaiting()) refused(TooManyAsk());
}

void LostChanges::Run() {
  const absl::StatusOr<LossPtr> loss = ledger_->FindLoss();
  for (const Answer& answer : TakeWaiting()) answer(loss);
}

std::vector<LostChanges::Answer> LostChanges::TakeWaiting() {
  MutexLock lock(&mutex_);
  running_ = false;
  return std::exchange(waiting_, {});
}

}  // namespace berth::services
