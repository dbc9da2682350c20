// Readiness: what a tracker has said of whether its host is ready for guests, as far as that is
// still to be recorded in the tracker's service.
//
// A message of readiness has no answer. So a readiness waits again after a failure that may pass
// (Settle). A service that an operator disabled stays disabled: the rule of UpdateService decides
// so (T-297). Not thread-safe: ReportSession guards the Readiness with its mutex_.
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
  // Returns the command that records the readiness that waits. `service`: the record of the
  // tracker's service; null: it has none. Returns nothing if no readiness waits or a command is not
  // settled yet. Else, if `service` is null, or is disabled or enabled already as the readiness
  // wants, forgets the readiness and returns nothing.
  std::optional<placement::UpdateService> Next(const placement::ServiceRecord* service);
  // To be called once with the outcome of each command. After kUnavailable, kDeadlineExceeded or
  // RECOVERY_REQUIRED, the readiness of the command waits again, unless a newer one waits. Returns
  // true if a readiness waits now, so that Next must be called later.
  bool Settle(const absl::Status& status);

 private:
  std::optional<pb::Readiness> waiting_;
  std::optional<pb::Readiness> recording_;  // a command records it now
};

// Logs why a readiness of the tracker on `host` could not be recorded. A host gets at most one line
// in a second, because the tracker decides how often this happens.
void LogUnrecorded(const std::string& host, const absl::Status& status);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_READINESS_H_
