// Conversion of services and nodes between proto messages and domain types. Pure.
#ifndef BERTH_SERVICES_WIRE_FLEET_H_
#define BERTH_SERVICES_WIRE_FLEET_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/placement/v1/fleet.pb.h"
#include "berth/placement/v1/node.pb.h"
#include "placement/commands/command.h"
#include "placement/ground/boot_clock.h"
#include "services/wire/form.h"
#include "services/wire/write_answer.h"

namespace berth::services {

using placement::ServicePtr;
using NodePtr = placement::NodeRecordPtr;

// What this process has heard from one service since it started.
struct Heard {
  placement::Uuid incarnation;
  placement::BootTime at;
  absl::Time seen_at = {};   // the same moment on the wall clock, for people
  int64_t count = 0;         // number of heartbeats heard
  bool stale_audit = false;  // what its last heartbeat said (T-293)
};

// Find the record with uuid `text`. Fail with INVALID_FIELD, SERVICE_NOT_FOUND or NODE_NOT_FOUND.
absl::StatusOr<ServicePtr> FindServiceByUuid(const placement::State& state, absl::string_view text);
absl::StatusOr<NodePtr> FindNodeByUuid(const placement::State& state, absl::string_view text);
// The service of the tracker on `host`, or null.
ServicePtr FindTracker(const placement::State& state, const std::string& host);

// The service `id` as it is after the command.
ServicePtr ServiceAfter(const WriteAnswer& answer, placement::Uuid id);

// Fills in a service. `seen`: null if this process has not heard from the service.
void FillService(const placement::ServiceRecord& service, const Heard* seen, pb::Service* to);
// The bytes in which the ledger stores a node's facts: a Node with the facts only. FillNode reads
// them.
std::shared_ptr<const std::string> FactsBytes(const pb::NodeFacts& facts);
void FillNode(const placement::State& state, const placement::NodeRecord& node, pb::NodeView view,
              pb::Node* to);

// Set the numbers of a node: those that its facts hold, and those that its account holds. A number
// that is too large for a sum becomes the largest one (kNodeNumberMax).
void SetTotals(const pb::NodeFacts& facts, placement::NodeSums* sums);
void SetUses(const pb::NodeAccount& account, placement::NodeSums* sums);

// Fills in the node with the uuid `node_uuid`, which the command changed, as it is in the state of
// `answer`.
void FillChangedNode(const WriteAnswer& answer, const std::string& node_uuid, pb::Node* to);
// The consumers that the command changed or removed.
std::set<placement::ConsumerId> AffectedConsumers(const WriteAnswer& answer);
void FillDeleteNode(const WriteAnswer& answer, pb::DeleteNodeResponse* response);

// These functions make commands. They look the service or node up in `state`, because requests name
// a service by its uuid, and commands name it by host and binary.
absl::StatusOr<placement::CommandBody> EnableServiceCommand(const placement::State& state,
                                                            const pb::EnableServiceRequest&);
absl::StatusOr<placement::CommandBody> DisableServiceCommand(const placement::State& state,
                                                             const pb::DisableServiceRequest&);
absl::StatusOr<placement::CommandBody> ForceServiceDownCommand(const placement::State& state,
                                                               const pb::ForceServiceDownRequest&);
absl::StatusOr<placement::CommandBody> DeleteServiceCommand(const placement::State& state,
                                                            const pb::DeleteServiceRequest&);
absl::StatusOr<placement::CommandBody> CreateNodeCommand(const pb::CreateNodeRequest&);
absl::StatusOr<placement::CommandBody> UpdateNodeCommand(const placement::State& state,
                                                         const pb::UpdateNodeRequest&);
absl::StatusOr<placement::CommandBody> DeleteNodeCommand(const placement::State& state,
                                                         const pb::DeleteNodeRequest&);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_FLEET_H_
