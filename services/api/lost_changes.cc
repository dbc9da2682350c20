#include "services/api/lost_changes.h"

#include <utility>

#include "placement/values/refusal.h"

namespace berth::services {

using placement::LossPtr;
using placement::MutexLock;

namespace {

constexpr absl::Duration kLossRetry = absl::Seconds(1);

absl::Status TooManyAsk() {
  return placement::Refuse(
      absl::StatusCode::kUnavailable, "OVERLOADED",
      "too many calls of this caller, or of all, wait for the list of lost changes: "
      "try again later",
      {}, kLossRetry);
}

}  // namespace

void LostChanges::Find(const std::string& owner, const Answer& answer) {
  const absl::StatusOr<LossPtr> known = ledger_->KnownLoss();
  if (!known.ok() || *known != nullptr) return answer(known);
  bool waits = false;
  bool begins = false;
  {
    MutexLock lock(&mutex_);
    waits = waiting_.size() < kWaitingMax && waiting_.try_emplace(owner, answer).second;
    if (waits) begins = !std::exchange(running_, true);
  }
  if (!waits) return answer(TooManyAsk());
  if (!begins) return;
  const bool taken = worker_->Submit(
      {"", placement::Priority::kBulk}, [this] { Run(); }, [this] { AnswerAll(TooManyAsk()); });
  if (!taken) AnswerAll(TooManyAsk());
}

void LostChanges::Run() { AnswerAll(ledger_->FindLoss()); }

// Answers all who wait, and notes that no job runs.
void LostChanges::AnswerAll(const absl::StatusOr<LossPtr>& loss) {
  std::map<std::string, Answer> waiting;
  {
    MutexLock lock(&mutex_);
    running_ = false;
    waiting.swap(waiting_);
  }
  for (const auto& [owner, answer] : waiting) answer(loss);
}

}  // namespace berth::services
