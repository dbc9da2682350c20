// Condition: how a ledger stands, as its threads keep it and health checks read it. Thread-safe.
#ifndef BERTH_PLACEMENT_LEDGER_HEALTH_H_
#define BERTH_PLACEMENT_LEDGER_HEALTH_H_

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/batch_tally.h"
#include "placement/values/types.h"

namespace berth::placement {

class Condition {
 public:
  explicit Condition(std::function<void(const std::string&)> tell_operator)
      : tell_operator_(std::move(tell_operator)) {}

  // Words for an operator.
  void Tell(const std::string& words) const {
    if (tell_operator_) tell_operator_(words);
  }

  // OK, or what a command is refused with as long as an operator has to act.
  absl::Status WhyNoWrites() const;
  // The database went back in time. Tells the operator the first time.
  void RequireRecovery(const std::string& words);
  // Where the database stands that went back in time. {0, 0}: not seen, or it did not.
  void SetDatabaseRevision(Revision revision);
  Revision database_revision() const;
  // The revision after which the log is whole; none: not looked yet.
  void SetOldestWatchable(Revision revision);
  std::optional<Revision> oldest_watchable() const;
  // Adds what a settled batch decided.
  void Add(const BatchTally& tally);

  // Whether a command may wait for the writer. A connection that was lost is made again first: it is
  // false where that failed, or where the database took no writes or could not be read.
  std::atomic<bool> reachable{true};
  std::atomic<bool> recovery_required{false};
  std::atomic<bool> format_too_new{false};
  std::atomic<bool> writing_stopped{false};
  std::atomic<int64_t> batches{0}, commands{0}, refusals{0}, in_doubt{0}, reconnects{0};
  std::atomic<int64_t> claims_done{0}, claims_without_room{0}, claims_refused{0};
  std::atomic<int64_t> provider_conflicts{0}, consumer_conflicts{0};
  std::atomic<int64_t> followed_rows{0}, reloads{0};

 private:
  const std::function<void(const std::string&)> tell_operator_;
  mutable Mutex mutex_;
  Revision database_revision_ ABSL_GUARDED_BY(mutex_);
  std::optional<Revision> oldest_watchable_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_HEALTH_H_
