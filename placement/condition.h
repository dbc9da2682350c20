// Condition: how a ledger stands, as its threads keep it and health checks read it. Thread-safe.
#ifndef BERTH_PLACEMENT_CONDITION_H_
#define BERTH_PLACEMENT_CONDITION_H_

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"

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

  std::atomic<bool> connected{false};
  std::atomic<bool> recovery_required{false};
  std::atomic<bool> format_too_new{false};
  std::atomic<bool> writing_stopped{false};
  std::atomic<int64_t> batches{0}, commands{0}, refusals{0}, in_doubt{0}, reconnects{0};
  std::atomic<int64_t> followed_rows{0}, reloads{0};

 private:
  const std::function<void(const std::string&)> tell_operator_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CONDITION_H_
