#include "tracker/node/schedule.h"

#include <algorithm>
#include <utility>

#include "tracker/ground/check.h"

namespace berth::tracker {
namespace {

void Earlier(MonotonicTime when, std::optional<MonotonicTime>* due) {
  *due = std::min(due->value_or(when), when);
}

}  // namespace

const char* PassCauseName(PassCause cause) {
  switch (cause) {
    case PassCause::kStart:
      return "start";
    case PassCause::kInterval:
      return "interval";
    case PassCause::kEvent:
      return "event";
    case PassCause::kConfirm:
      return "confirm";
    case PassCause::kRequest:
      return "request";
    case PassCause::kReload:
      return "reload";
    case PassCause::kReconnect:
      return "reconnect";
  }
  return "unknown";
}

PassSchedule::PassSchedule(const Options& options, MonotonicTime now)
    : options_(options), random_(options.seed), base_(now) {
  if (!options_.interval) return;
  const auto span = static_cast<uint64_t>(std::max<int64_t>(0, options_.first_delay_max.count()));
  base_ += std::chrono::milliseconds(random_() % (span + 1));
  PlanTick(now);
}

void PassSchedule::PlanTick(MonotonicTime now) {
  base_ += *options_.interval;
  if (base_ < now) base_ = now + *options_.interval;  // drops passes that a long pass delayed
  const auto jitter = static_cast<uint64_t>(options_.interval->count() / 20);  // up to 5 %
  tick_ = base_ + std::chrono::milliseconds(random_() % (jitter + 1));
}

void PassSchedule::Request(PassCause cause, MonotonicTime now) {
  if (std::find(causes_.begin(), causes_.end(), cause) == causes_.end()) causes_.push_back(cause);
  Earlier(cause == PassCause::kEvent ? now + options_.event_gather : now, &requested_);
}

void PassSchedule::RequestAt(MonotonicTime when) { Earlier(when, &confirm_); }

std::optional<MonotonicTime> PassSchedule::NextDue() const {
  if (running_ || stopped_) return std::nullopt;
  std::optional<MonotonicTime> due;
  for (const std::optional<MonotonicTime>& one : {tick_, requested_, confirm_}) {
    if (one) Earlier(*one, &due);
  }
  return due;
}

bool PassSchedule::Due(MonotonicTime now) const {
  const std::optional<MonotonicTime> due = NextDue();
  return due && *due <= now;
}

std::vector<PassCause> PassSchedule::Begin(MonotonicTime now) {
  BERTH_CHECK(Due(now));
  running_ = true;
  // The pass serves all requests, even those for events that are still being gathered.
  std::vector<PassCause> causes = std::exchange(causes_, {});
  requested_.reset();
  if (confirm_ && *confirm_ <= now) {
    causes.push_back(PassCause::kConfirm);
    confirm_.reset();
  }
  if (tick_ && *tick_ <= now) {
    causes.push_back(PassCause::kInterval);
    PlanTick(now);
  }
  return causes;
}

void PassSchedule::End() {
  BERTH_CHECK(running_);  // the thread that began the pass ends it
  running_ = false;
}

}  // namespace berth::tracker
