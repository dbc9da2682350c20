#include "services/access/policy.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/values/refusal.h"

namespace berth::services {

using placement::BootTime;
using placement::MutexLock;

void AccessPolicy::Put(RulesInForce rules) {
  auto made = std::make_shared<const RulesInForce>(std::move(rules));
  MutexLock lock(&mutex_);
  rules_.swap(made);
  fault_.clear();
  version_.fetch_add(1, std::memory_order_acq_rel);
}

RulesInForcePtr AccessPolicy::rules() const {
  MutexLock lock(&mutex_);
  return rules_;
}

void AccessPolicy::SetFault(std::string why) {
  MutexLock lock(&mutex_);
  fault_ = std::move(why);
}

std::string AccessPolicy::fault() const {
  MutexLock lock(&mutex_);
  return fault_;
}

absl::Status AccessPolicy::Admit(absl::string_view identity) const {
  // Each call asks. Without a file nobody takes the lock.
  return version() == 0 ? absl::OkStatus() : rules()->rules.Admit(identity);
}

placement::ProjectSetPtr AccessPolicy::ProjectsOf(absl::string_view identity) const {
  return version() == 0 ? nullptr : rules()->rules.ProjectsOf(identity);
}

placement::TrackerLimitsPtr AccessPolicy::LimitsOf(absl::string_view identity) const {
  return version() == 0 ? nullptr : rules()->rules.LimitsOf(identity);
}

absl::Status AccessPolicy::CountCall(absl::string_view identity, BootTime now) {
  if (version() == 0) return absl::OkStatus();
  absl::Duration wait;
  CallRate rate;
  {
    MutexLock lock(&mutex_);
    const CallRate* const found = rules_->rules.RateOf(identity);
    if (found == nullptr) return absl::OkStatus();
    rate = *found;
    wait = BucketOf(identity, now)->Take(rate, now);
  }
  if (wait <= absl::ZeroDuration()) return absl::OkStatus();
  return placement::Refuse(
      absl::StatusCode::kUnavailable, "RATE_LIMITED",
      absl::StrCat(identity, " may make ", rate.calls_per_second, " calls a second, and ",
                   rate.burst, " at once: nothing was done, try again"),
      {{{"identity", std::string(identity)}}}, absl::Ceil(wait, absl::Milliseconds(1)));
}

TokenBucket* AccessPolicy::BucketOf(absl::string_view identity, BootTime now) {
  const auto found = buckets_.find(identity);
  if (found != buckets_.end()) return &found->second;
  if (buckets_.size() >= kBucketsMax) {
    absl::erase_if(buckets_, [now](const auto& bucket) { return bucket.second.IsFull(now); });
    // So many that are not full would be looked through again soon.
    if (buckets_.size() > kBucketsMax / 2) buckets_.clear();
  }
  return &buckets_[identity];
}

bool AccessPolicy::IsDailyLimited(absl::string_view identity) const {
  return version() != 0 && rules()->rules.DailyLimitsOf(identity).has_value();
}

std::optional<DailyGrant> AccessPolicy::TakeDaily(absl::string_view identity,
                                                  const DailyAmounts& wanted, BootTime now) {
  MutexLock lock(&mutex_);
  const std::optional<DailyAmounts> limits = rules_->rules.DailyLimitsOf(identity);
  if (!limits) return std::nullopt;
  return DayOf(identity, now)->Take(*limits, wanted, now);
}

void AccessPolicy::GiveBackDaily(absl::string_view identity, const DailyAmounts& amounts,
                                 BootTime taken_at) {
  MutexLock lock(&mutex_);
  const auto found = days_.find(identity);
  if (found != days_.end()) found->second.GiveBack(amounts, taken_at);
}

DailyUse* AccessPolicy::DayOf(absl::string_view identity, BootTime now) {
  const auto found = days_.find(identity);
  if (found != days_.end()) return &found->second;
  if (days_.size() >= kDaysMax) {
    absl::erase_if(days_, [now](const auto& day) { return day.second.IsOver(now); });
    if (days_.size() > kDaysMax / 2) days_.clear();  // as in BucketOf
  }
  return &days_[identity];
}

size_t AccessPolicy::buckets() const {
  MutexLock lock(&mutex_);
  return buckets_.size();
}

size_t AccessPolicy::days() const {
  MutexLock lock(&mutex_);
  return days_.size();
}

}  // namespace berth::services
