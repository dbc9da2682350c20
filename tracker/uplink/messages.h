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
#include "tracker/uplink/account_messages.h"
#include "tracker/uplink/facts_messages.h"

namespace berth::tracker {

// The largest number of bytes that a report's account, observation, orphans and findings may take
// together. Placement takes 64 KiB.
inline constexpr size_t kAccountBytesMax = 60 * 1024;

placement::v1::Orphan WireOrphan(const Orphan& orphan);
// Makes messages of findings. Orphans, which the report lists elsewhere, and kUnverified are left
// out. Texts of findings and summaries may come from outside: see MessageText.
std::vector<placement::v1::Finding> WireFindings(const std::vector<Finding>& findings);
placement::v1::AuditSummary WireSummary(const PassOutcome& outcome);

// Makes the message of a report. A delta has only the values that differ from `report.base` or from
// the records. If a report is too large, counters of projects, tasks and states, and the last PCI
// devices, pools of devices, findings or orphans are left out, and a finding says how many.
placement::v1::Report WireReport(const Outbox::Outgoing& report,
                                 const std::optional<Records>& records, const PassOutcome& outcome);

// Returns the reason of a refusal by placement: the reason of the ErrorInfo in `status`, for
// example TRACKER_FENCED. Empty if `status` has no ErrorInfo of placement's domain.
std::string ReadReason(const google::rpc::Status& status);
// Whether the refusal of a write of records is about the record of an instance or of a migration:
// an ErrorInfo of placement's domain in `status` names one.
bool NamesRecord(const google::rpc::Status& status);
// Whether placement refused what consumers shall hold by a report, and the limits of its access file
// may have caused that: an ErrorInfo of placement's domain in `status` has the key `limited`.
bool NamesLimits(const google::rpc::Status& status);
// The providers of the node `node_uuid`. The node's root has no parent among them: an operator may
// have put it below another provider, and the tracker does not decide about that. Leaves out a
// provider whose uuid cannot be read.
std::vector<KnownProvider> ReadProviders(
    const google::protobuf::RepeatedPtrField<placement::v1::Provider>& providers,
    const Uuid& node_uuid);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_MESSAGES_H_
