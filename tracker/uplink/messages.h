// Tracker values as the messages of proto/, and back. The only converter of this library.
//
// Pure functions. For uplink*.cc and for services/.
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

// What facts, account and findings of one report may take on the wire; devices beyond it are left out
// and a finding says so.
inline constexpr size_t kNodeBytesMax = 60 * 1024;

placement::v1::NodeFacts WireFacts(const Facts& facts);
placement::v1::NodeObservation WireObservation(const Facts& facts, absl::Time at);
placement::v1::NodeAccount WireAccount(const Accounting& accounting);
placement::v1::Orphan WireOrphan(const Orphan& orphan);
// Those that are told as findings: orphans have their own list.
std::vector<placement::v1::Finding> WireFindings(const std::vector<Finding>& findings);
placement::v1::AuditSummary WireSummary(const PassOutcome& outcome);

// A report on what placement is known to hold. A delta tells only what differs from `report.base` or
// from the records.
placement::v1::Report WireReport(const Outbox::Outgoing& report,
                                 const std::optional<Records>& records, const PassOutcome& outcome);

// Takes a push, told at `revision`, into what is known.
void ApplyPush(const placement::v1::Push& push, const placement::v1::Revision& revision,
               Records* records);
// Why placement refused: the reason of its ErrorInfo, for example TRACKER_FENCED. Empty if `status`
// has none, or only one of another domain.
std::string ReadReason(const google::rpc::Status& status);
std::vector<KnownProvider> ReadProviders(
    const google::protobuf::RepeatedPtrField<placement::v1::Provider>& providers);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_MESSAGES_H_
