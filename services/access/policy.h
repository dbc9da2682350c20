// AccessPolicy: the rules of the operator's file that are in force, for all who ask.
//
// Whoever reads the file gives the rules; from this moment on all answers follow them. Also keeps
// how much of its rate, and of its day, each identity has left. Thread-safe.
#ifndef BERTH_SERVICES_ACCESS_POLICY_H_
#define BERTH_SERVICES_ACCESS_POLICY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"
#include "services/access/call_rate.h"
#include "services/access/daily_allowance.h"
#include "services/access/rules.h"

namespace berth::services {

class AccessPolicy {
 public:
  // How many identities are remembered for their rates. Each takes about 100 bytes.
  static constexpr size_t kBucketsMax = 65'536;
  // How many identities are remembered for their days. Each takes about 150 bytes.
  static constexpr size_t kDaysMax = 65'536;

  // Nothing is limited until Put is called.
  AccessPolicy() = default;

  void Put(RulesInForce rules);
  // Never null.
  RulesInForcePtr rules() const;
  // To be told that the newest text of the file is refused, and why. Put forgets this.
  void SetFault(std::string why);
  // Why the newest text of the file is not in force. Empty: it is.
  std::string fault() const;
  // A number that rises with each Put. 0: there was none, so nothing is limited.
  int64_t version() const { return version_.load(std::memory_order_acquire); }

  // Like AccessRules::Admit.
  absl::Status Admit(absl::string_view identity) const;
  // Like AccessRules::ProjectsOf.
  placement::ProjectSetPtr ProjectsOf(absl::string_view identity) const;
  // Like AccessRules::LimitsOf.
  placement::TrackerLimitsPtr LimitsOf(absl::string_view identity) const;
  // Counts a call of `identity` at `now`. Fails with UNAVAILABLE / RATE_LIMITED, and counts nothing,
  // if the identity has none left; the refusal says when there is one. If more identities call than
  // are remembered, some may call more often than their rates allow.
  absl::Status CountCall(absl::string_view identity, placement::BootTime now);

  // Whether `identity` has a daily limit.
  bool IsDailyLimited(absl::string_view identity) const;
  // Takes `wanted` from the day of `identity` at `now`, of each kind as much as is left (DailyUse).
  // So of several streams of one identity no two get the same. Nothing: the identity has no daily
  // limit. If more identities have limits than are remembered, some may bring more than is theirs.
  std::optional<DailyGrant> TakeDaily(absl::string_view identity, const DailyAmounts& wanted,
                                      placement::BootTime now);
  // Gives `amounts` back that TakeDaily took, and that were not needed. `taken_at`: DailyGrant::at.
  void GiveBackDaily(absl::string_view identity, const DailyAmounts& amounts,
                     placement::BootTime taken_at);

  // How many identities are remembered at present, for their rates and for their days.
  size_t buckets() const;
  size_t days() const;

 private:
  TokenBucket* BucketOf(absl::string_view identity, placement::BootTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  DailyUse* DayOf(absl::string_view identity, placement::BootTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<int64_t> version_{0};
  mutable placement::Mutex mutex_;
  RulesInForcePtr rules_ ABSL_GUARDED_BY(mutex_) = std::make_shared<const RulesInForce>();
  std::string fault_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, TokenBucket> buckets_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, DailyUse> days_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_ACCESS_POLICY_H_
