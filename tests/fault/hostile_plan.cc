#include "tests/fault/hostile_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace berth::fault {

using placement::MutexLock;

bool Pace::Await() {
  const MutexLock lock(&mutex_);
  const absl::Time moment = std::max(next_, absl::Now());
  next_ = moment + interval_;
  while (!stopped_) {
    const absl::Duration left = moment - absl::Now();
    if (left <= absl::ZeroDuration()) return true;
    stopping_.WaitFor(&mutex_, absl::ToChronoNanoseconds(left));
  }
  return false;
}

void Pace::Stop() {
  const MutexLock lock(&mutex_);
  stopped_ = true;
  stopping_.SignalAll();
}

bool Pace::stopped() const {
  const MutexLock lock(&mutex_);
  return stopped_;
}

void HostileTally::Add(const std::string& kind, const std::string& answer) {
  ++sent_;
  const MutexLock lock(&mutex_);
  ++counts_[kind][answer];
}

int64_t HostileTally::Count(const std::string& kind, const std::string& answer) const {
  const MutexLock lock(&mutex_);
  const auto answers = counts_.find(kind);
  if (answers == counts_.end()) return 0;
  const auto count = answers->second.find(answer);
  return count == answers->second.end() ? 0 : count->second;
}

std::string HostileTally::Text() const {
  const MutexLock lock(&mutex_);
  std::string text;
  for (const auto& [kind, answers] : counts_) {
    absl::StrAppend(&text, "  ", kind, ":");
    for (const auto& [answer, count] : answers) absl::StrAppend(&text, " ", answer, " ", count);
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string AnswerOf(const grpc::Status& status) {
  if (status.ok()) return "OK";
  const std::string reason = ReasonIn(status);
  return reason.empty() ? absl::StrCat("code ", status.error_code()) : reason;
}

}  // namespace berth::fault
