#include "placement/publish/answerer.h"

#include <limits>
#include <optional>
#include <utility>

#include "placement/ground/check.h"
#include "placement/ground/thread_name.h"

namespace berth::placement {

namespace {

constexpr int64_t kQuantum = 4;       // answers that an owner gets in one of its turns
constexpr size_t kAnswersAtOnce = 8;  // then the thread looks for calls, and for other owners

}  // namespace

Answerer::Answerer()
    : answers_(std::numeric_limits<int64_t>::max(), kQuantum), thread_([this] { Run(); }) {}

Answerer::~Answerer() { Stop(); }

void Answerer::Append(std::vector<Answer> answers) {
  for (Answer& answer : answers) {
    const Priority priority = answer.priority;
    const std::string owner = answer.owner;
    BERTH_CHECK(answers_.Push({owner, priority}, std::move(answer)).taken);
  }
}

std::vector<Answer> Answerer::TakeSome() {
  std::vector<Answer> some;
  while (some.size() < kAnswersAtOnce) {
    std::optional<Answer> answer = answers_.Pop();
    if (!answer) break;
    some.push_back(*std::move(answer));
  }
  return some;
}

void Answerer::Post(std::vector<Answer> answers) {
  if (answers.empty()) return;
  {
    const MutexLock lock(&mutex_);
    if (!ended_) {
      Append(std::move(answers));
      return changed_.Signal();
    }
  }
  for (Answer& answer : answers) answer.done(std::move(answer.decision));
}

void Answerer::Give(std::vector<Answer> answers) {
  {
    const MutexLock lock(&mutex_);
    const bool idle = !busy_ && answers_.empty() && calls_.empty();
    if (!idle && !ended_) {
      Append(std::move(answers));
      return changed_.Signal();
    }
    busy_ = true;
  }
  for (Answer& answer : answers) answer.done(std::move(answer.decision));
  const MutexLock lock(&mutex_);
  busy_ = false;
  if (stopping_ || !answers_.empty() || !calls_.empty()) changed_.Signal();
}

void Answerer::Post(absl::AnyInvocable<void()> call) {
  {
    const MutexLock lock(&mutex_);
    if (!ended_) {
      calls_.push_back(std::move(call));
      changed_.Signal();
      return;
    }
  }
  call();
}

void Answerer::Stop() {
  {
    const MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.Signal();
  }
  if (thread_.joinable()) thread_.join();
}

void Answerer::Run() {
  NameThread("ledger-answers");
  while (true) {
    std::vector<Answer> answers;
    std::vector<absl::AnyInvocable<void()>> calls;
    {
      const MutexLock lock(&mutex_);
      while (busy_ || (answers_.empty() && calls_.empty())) {
        if (stopping_ && !busy_) {
          ended_ = true;
          return;
        }
        changed_.Wait(&mutex_);
      }
      busy_ = true;
      answers = TakeSome();
      calls.swap(calls_);
    }
    for (Answer& answer : answers) answer.done(std::move(answer.decision));
    for (absl::AnyInvocable<void()>& call : calls) call();
    const MutexLock lock(&mutex_);
    busy_ = false;
  }
}

}  // namespace berth::placement
