// Converts the messages of a tracker's session between protos and values. Pure functions.
#ifndef BERTH_SERVICES_REPORT_MESSAGES_H_
#define BERTH_SERVICES_REPORT_MESSAGES_H_

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

void FillAck(const placement::State& state, placement::ProviderId node, const pb::Report& report,
             const placement::Decision& decision, pb::Ack* to);
void FillReject(const placement::State& state, placement::ProviderId node, const pb::Report& report,
                const absl::Status& status, pb::Reject* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_MESSAGES_H_
