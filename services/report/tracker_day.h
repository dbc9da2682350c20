// TrackerDay: counts what the tracker of a session brings into the ledger against the day of its
// identity (AccessPolicy), and tells each command how much is left.
//
// Begin takes from the day what a command may need. Settle gives back what the outcome did not need.
// So the streams of one identity together bring no more than its day allows, also at the same time.
// A tracker without a certificate has no identity, and no day. Only reports and new services count:
// without its other messages a tracker could neither claim nor start again.
//
// A report that is repeated, overtaken or refused brings nothing new. Its bytes count all the same,
// because the ledger had to decide it, with two exceptions: a report that a daily limit refuses, and
// one that was not decided, because the ledger is not available. A malformed report does not count
// either: no command is made of it. If the outcome is not known, all that was taken stays counted.
//
// Not thread-safe: ReportSession uses it while it handles a message.
#ifndef BERTH_SERVICES_REPORT_TRACKER_DAY_H_
#define BERTH_SERVICES_REPORT_TRACKER_DAY_H_

#include <optional>

#include "absl/status/status.h"
#include "berth/placement/v1/report.pb.h"
#include "placement/commands/command.h"
#include "placement/commands/decision.h"
#include "placement/state/state.h"
#include "services/access/policy.h"
#include "services/report/messages.h"
#include "services/report/tracker_identity.h"

namespace berth::services {

class TrackerDay {
 public:
  // Null: nobody is limited. `policy` must outlive this object.
  explicit TrackerDay(AccessPolicy* policy) : policy_(policy) {}

  // Sets service->may_be_new. Settle must be called when `service` is decided.
  void Begin(const TrackerIdentity& identity, placement::RegisterService* service);
  // Sets command->left, and Settle must be called when `command` is decided. Or RESOURCE_EXHAUSTED /
  // DAILY_LIMIT_REACHED if the bytes of the report are more than is left; then nothing is counted.
  // The ledger might refuse the report for another reason first, but a report beyond the day shall
  // cost its writer nothing.
  // `command`: made of `report` with `state` and `hello`, the tracker's last Hello. What is counted
  // tells nothing of nodes that the tracker may not report (MayReport), nor of their providers.
  absl::Status Begin(const TrackerIdentity& identity, const placement::State& state,
                     const HelloFacts& hello, const placement::v1::Report& report,
                     placement::ApplyReport* command);
  // To be called with the decision about the last command that Begin has seen. Returns the status of
  // the decision as the tracker shall be told it: if the command alone needs more than a whole day
  // has, the message says so, as does that of Begin.
  absl::Status Settle(const TrackerIdentity& identity, const placement::Decision& decision);

 private:
  bool IsLimited(const TrackerIdentity& identity) const;

  AccessPolicy* const policy_;
  std::optional<DailyGrant> grant_;  // of the command that is not settled yet
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_TRACKER_DAY_H_
