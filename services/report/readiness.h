// Readiness: what a tracker said of whether its host is ready for guests, until it is recorded.
//
// A tracker does not repeat its readiness. So a readiness that the ledger may not have written is
// recorded again. If an operator has set another value, that value stays: the rule of UpdateService
// decides so (T-297). Not thread-safe: the session guards the Readiness with its lock.
//
// Invariant: at most one command records a readiness at a time, and of the readiness messages that
// wait only the newest is kept.
#ifndef BERTH_SERVICES_REPORT_READINESS_H_
#define BERTH_SERVICES_REPORT_READINESS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "berth/placement/v1/report.pb.h"
#include "placement/commands/command.h"
#include "placement/values/fleet.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

class Readiness {
 public:
  void Hear(const pb::Readiness& readiness) { waiting_ = readiness; }
  // Returns the command that records the readiness that waits, and waits no longer. Returns nothing
  // while a command is not settled, or if `service` already says the same. `service`: the tracker's
  // record, or null if it has none.
  std::optional<placement::UpdateService> Next(const placement::ServiceRecord* service);
  // To be called once with the outcome of each command. Returns whether a readiness waits now: Next
  // must be called later.
  bool Settle(const absl::Status& status);

 private:
  std::optional<pb::Readiness> waiting_;
  std::optional<pb::Readiness> recording_;  // a command records it now
};

// Logs why a readiness of the tracker on `host` could not be recorded. A tracker decides how often
// this happens. So a host gets at most one line in a second.
void LogUnrecorded(const std::string& host, const absl::Status& status);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_READINESS_H_
