// Converts the messages of a tracker's session between protos (report.proto) and values.
#ifndef BERTH_SERVICES_REPORT_MESSAGES_H_
#define BERTH_SERVICES_REPORT_MESSAGES_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "berth/placement/v1/report.pb.h"
#include "placement/commands/command.h"
#include "placement/commands/decision.h"
#include "services/report/liveness.h"
#include "services/wire/form.h"

namespace berth::services {

// One node that a Hello announces: a NodeDigest of the proto.
struct HelloNode {
  placement::ProviderId id;
  std::string name;
  std::string digest;
  std::optional<placement::Revision> pushed;
};
// A well-formed Hello. No node is twice in `nodes` and `retired` together.
struct HelloFacts {
  placement::RegisterService service;
  std::vector<HelloNode> nodes;
  std::vector<placement::ProviderId> retired;  // Hello.retired_node_uuids
  bool identified = false;  // the session sets it: the tracker has a certificate of this host
};
// Draws the uuid for a new record of the service. Fails with INVALID_FIELD, or with
// DUPLICATE_PARAMETER if a node is named twice.
absl::StatusOr<HelloFacts> HelloOf(const pb::Hello& hello);
// Whether `node` is one of hello.nodes.
bool Announces(const HelloFacts& hello, placement::ProviderId node);
// The nodes of hello.nodes that the tracker may report (MayReport). A node that is recorded for
// another host whose tracker is down is among them if the tracker has no certificate: this tracker
// may take the node over, so it must get the order for the node's snapshot.
std::vector<placement::ProviderId> OwnNodes(const placement::State& state, const HelloFacts& hello);
// The nodes of hello.retired that are recorded for the Hello's host and are not retired yet (T-40).
std::vector<placement::ProviderId> NodesToRetire(const placement::State& state,
                                                 const HelloFacts& hello);
// PERMISSION_DENIED / POLICY_DENIED if a provider of the node has something withheld: a retired node
// ends with its last consumer, and its tracker could make it again without what operators gave it.
absl::Status CheckRetired(const placement::State& state, const placement::TrackerLimits* limits,
                          placement::ProviderId node);

Beat BeatOf(const pb::Heartbeat& heartbeat);

// Makes the command for `report`. Completes the name, the account and the sums from the node's
// record in `state`, as far as the report leaves them out as unchanged and the tracker may report the
// node or has no certificate. Fails with INVALID_FIELD.
absl::StatusOr<placement::ApplyReport> ApplyReportOf(const placement::State& state,
                                                     const HelloFacts& hello,
                                                     const pb::Report& report);

// Whether the last applied report of `node` had `digest`, and each provider of NodeRecord::reported
// still has the generation that is noted there. False if `digest` is empty.
bool IsKnown(const placement::State& state, const placement::NodeRecord& node,
             const std::string& digest);

// Whether a report of `node` from the tracker that sent `hello` would pass the check of the node's
// owner (ReportPlan::CheckOwner). So false if the node is recorded for another host, unless the
// tracker of that host is down (HoldsLease) and this tracker has no certificate; and false if the
// tracker has a certificate, and the node has no record, but a provider has its uuid. Does not look
// at what is above such a provider.
bool MayReport(const placement::State& state, const HelloFacts& hello, placement::ProviderId node);

void FillRecordedNode(const placement::NodeRecord& node, pb::RecordedNode* to);
// Fills the answer to `hello`. `decision`: the one about the command hello.service. `may_send` is
// called once for each node of which placement needs a snapshot, and returns whether the node may
// send the snapshot now.
void FillWelcome(const placement::State& state, const HelloFacts& hello,
                 const placement::Decision& decision, absl::Duration heartbeat_interval,
                 const std::function<bool(placement::ProviderId)>& may_send, pb::Welcome* to);

void FillAck(const placement::State& state, placement::ProviderId node, const pb::Report& report,
             const placement::Decision& decision, pb::Ack* to);
// If `status` is ABORTED, fills in the node's providers, too.
void FillReject(const placement::State& state, placement::ProviderId node, const pb::Report& report,
                const absl::Status& status, pb::Reject* to);
// Rejects a report of which no command was made. The report's node_uuid may be malformed.
void FillReject(const pb::Report& report, const absl::Status& why, pb::Reject* to);

// Whether `status` is a refusal (placement/values/refusal.h) with the reason `reason`.
bool HasReason(const absl::Status& status, absl::string_view reason);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_MESSAGES_H_
