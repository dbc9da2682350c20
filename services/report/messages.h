// Converts the messages of a tracker's session between protos and values. Pure functions.
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

// One node that a Hello names.
struct HelloNode {
  placement::ProviderId id;
  std::string name;
  std::string digest;
  std::optional<placement::Revision> pushed;
};
// A well-formed Hello.
struct HelloFacts {
  placement::RegisterService service;
  std::vector<HelloNode> nodes;
  std::vector<placement::ProviderId> retired;
};
absl::StatusOr<HelloFacts> HelloOf(const pb::Hello& hello);
// Whether `hello` announces `node`.
bool Announces(const HelloFacts& hello, placement::ProviderId node);
// The nodes of the Hello that its tracker may report. A node whose other host is down is among them:
// this tracker takes it over, so it must get the order for the node's snapshot.
std::vector<placement::ProviderId> OwnNodes(const placement::State& state, const HelloFacts& hello);
// The nodes that the tracker's configuration no longer names, and that are not retired yet (T-40).
std::vector<placement::ProviderId> NodesToRetire(const placement::State& state,
                                                 const HelloFacts& hello);

Beat BeatOf(const pb::Heartbeat& heartbeat);

// Makes the command for a report. A delta omits facts of the node that have not changed; these are
// taken from `state`.
absl::StatusOr<placement::ApplyReport> ApplyReportOf(const placement::State& state,
                                                     const HelloFacts& hello,
                                                     const pb::Report& report);

// Whether the last applied report of `node` had `digest`, and every provider of that report still
// has the generation that it had right after the report.
bool IsKnown(const placement::State& state, const placement::NodeRecord& node,
             const std::string& digest);

// Whether `node` belongs to another host than `host`, and the tracker of that host is alive.
bool IsHeldElsewhere(const placement::State& state, const placement::NodeRecord& node,
                     const std::string& host);

void FillRecordedNode(const placement::NodeRecord& node, pb::RecordedNode* to);
// Fills the answer to `hello`, whose service `decision` registered. `may_send`: asked once for each
// node of which placement needs a snapshot, whether the node may send it now.
void FillWelcome(const placement::State& state, const HelloFacts& hello,
                 const placement::Decision& decision, absl::Duration heartbeat_interval,
                 const std::function<bool(placement::ProviderId)>& may_send, pb::Welcome* to);

void FillAck(const placement::State& state, placement::ProviderId node, const pb::Report& report,
             const placement::Decision& decision, pb::Ack* to);
void FillReject(const placement::State& state, placement::ProviderId node, const pb::Report& report,
                const absl::Status& status, pb::Reject* to);
// Rejects a report that the ledger does not get, and whose uuid may be malformed.
void FillReject(const pb::Report& report, const absl::Status& why, pb::Reject* to);

// Whether `status` is a refusal for `reason`.
bool HasReason(const absl::Status& status, absl::string_view reason);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_MESSAGES_H_
