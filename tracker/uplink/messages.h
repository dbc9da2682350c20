// Converts the tracker's values into the messages of proto/, and messages into values.
//
// Pure functions. The uplink and services/tracker call them.
#ifndef BERTH_TRACKER_UPLINK_MESSAGES_H_
#define BERTH_TRACKER_UPLINK_MESSAGES_H_

#include <optional>
#include <string>
#include <vector>

#include "berth/placement/v1/report.pb.h"
#include "google/rpc/status.pb.h"
#include "tracker/audit/audit.h"
#include "tracker/audit/pass.h"
#include "tracker/audit/records.h"
#include "tracker/node/node.h"
#include "tracker/node/outbox.h"

namespace berth::tracker {

// The most bytes that facts, account, observation, orphans and findings of a report may take
// together.
inline constexpr size_t kNodeBytesMax = 60 * 1024;

placement::v1::NodeFacts WireFacts(const Facts& facts);
placement::v1::NodeObservation WireObservation(const Facts& facts, absl::Time at);
placement::v1::NodeAccount WireAccount(const Report& report);
placement::v1::Orphan WireOrphan(const Orphan& orphan);
// Leaves out the orphans, which have a list of their own, and kUnverified.
std::vector<placement::v1::Finding> WireFindings(const std::vector<Finding>& findings);
placement::v1::AuditSummary WireSummary(const PassOutcome& outcome);

// Makes the message of a report. A delta has only what differs from `report.base` or from the
// records. If a report is too large, PCI devices, findings and orphans are left out, and a finding
// says how many.
placement::v1::Report WireReport(const Outbox::Outgoing& report,
                                 const std::optional<Records>& records, const PassOutcome& outcome);

// Applies a push of `revision` to the records.
void ApplyPush(const placement::v1::Push& push, const placement::v1::Revision& revision,
               Records* records);
// Why placement refused: the reason of its ErrorInfo, for example TRACKER_FENCED. Empty if `status`
// has none, or only one of another domain.
std::string ReadReason(const google::rpc::Status& status);
std::vector<KnownProvider> ReadProviders(
    const google::protobuf::RepeatedPtrField<placement::v1::Provider>& providers);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_MESSAGES_H_
